"""Whole audits: of a redacted film, of a copy, of one with holes, and of one with a gallery."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from itertools import chain
from pathlib import Path

import av
import cv2
import numpy as np
import people
import pytest
from av import VideoFrame
from scenes import Picture

import mpflow
from mpflow.audit.conclusion import Result
from mpflow.audit.run import audit
from mpflow.audit.verdicts import Verdict
from mpflow.audit.wish import Wish
from mpflow.models.store import ModelStore

FRAMES, RATE = 60, 25
OPEN = range(10, 15)
GONE = range(20, 22)
WEAK = range(44, 60)
EXTRA_AFTER = 30
NARROW = 6.0  # fifths of this many pixels: a blur that a face of 50 pixels can be known through


def pictures(path: Path, count: int = FRAMES) -> Iterator[Picture]:
    with av.open(str(path)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            if number == count:
                return
            yield frame.to_ndarray(format="bgr24")


def film(path: Path, shown: Iterable[tuple[Fraction, Picture]]) -> Path:
    """A lossless film of pictures, each at its time in frames."""
    with av.open(str(path), "w") as container:
        stream = None
        for at, picture in shown:
            if stream is None:
                stream = container.add_stream("ffv1", rate=RATE)
                stream.height, stream.width, stream.pix_fmt = *picture.shape[:2], "yuv420p"
                stream.codec_context.time_base = Fraction(1, 1000)
            frame = VideoFrame.from_ndarray(picture, format="bgr24")
            frame.pts, frame.time_base = round(at * 1000 / RATE), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        assert stream is not None
        container.mux(stream.encode(None))
    return path


def numbered(shown: Iterable[Picture]) -> Iterator[tuple[Fraction, Picture]]:
    return ((Fraction(number), picture) for number, picture in enumerate(shown))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def source(model_store: ModelStore, folder: Path) -> Path:
    """Two seconds of a man who talks."""
    return film(folder / "in.mkv", numbered(pictures(model_store.path("carphone"))))


@pytest.fixture(scope="module")
def covered(source: Path, folder: Path) -> Path:
    output = folder / "covered.mkv"
    mpflow.run(mpflow.RunSpec(source, output, set={"encode.codec": "ffv1"}))
    return output


@pytest.fixture(scope="module")
def holed(source: Path, covered: Path, folder: Path) -> Path:
    """Covered, but for five frames; two are gone, one is added, and the end is hardly blurred."""
    one = zip(pictures(source), pictures(covered), strict=True)
    return film(folder / "holed.mkv", chain.from_iterable(map(with_holes, range(FRAMES), one)))


def with_holes(number: int, pair: Sequence[Picture]) -> Iterator[tuple[Fraction, Picture]]:
    before, after = pair
    if number in WEAK:
        after = np.asarray(cv2.GaussianBlur(before, (0, 0), NARROW / 5), np.uint8)
    if number not in GONE:
        yield Fraction(number), before if number in OPEN else after
    if number == EXTRA_AFTER:
        yield number + Fraction(1, 2), before


def look(source: Path, target: Path, **wish: object) -> Result:
    return audit(Wish(source, target, **wish))


def test_a_redacted_film_is_clean_and_says_how_that_is_known(source: Path, covered: Path) -> None:
    report = look(source, covered).report
    assert report.exit_status == 0
    assert report.findings == report.doubtful == report.kept == report.remarks == ()
    (track,) = report.tracks
    assert (track.frames, track.verdict) == (FRAMES, Verdict.COVERED)
    assert track.looks >= 4
    assert track.likeness < report.limits.same
    assert (report.timing.paired, report.timing.lacking, report.timing.extra) == (FRAMES, 0, 0)
    assert [len(file.sha256) for file in (report.input, report.output, *report.models)] == [64] * 5


def test_the_same_file_twice_and_swapped_files_are_not_signed_for(
    source: Path, covered: Path
) -> None:
    same = look(covered, covered).report
    assert (same.exit_status, same.findings) == (5, ())
    assert "the same file" in same.mistaken[0]
    swapped = look(covered, source).report
    assert swapped.exit_status in (5, 7)
    assert "are input and output swapped?" in swapped.mistaken[0]


def test_a_second_view_in_the_output_is_not_passed_over(source: Path, covered: Path) -> None:
    both = covered.with_name("views.mkv")
    with ExitStack() as stack:
        target = stack.enter_context(av.open(str(both), "w"))
        views = [stack.enter_context(av.open(str(path))) for path in (covered, source)]
        streams = [target.add_stream_from_template(view.streams.video[0]) for view in views]
        for view, stream in zip(views, streams, strict=True):
            for packet in view.demux(video=0):
                if packet.dts is not None:
                    packet.stream = stream
                    target.mux(packet)
    report = look(source, both).report
    assert (report.findings, report.output.beside, report.exit_status) == ((), 1, 5)
    assert "nobody looked at" in "".join(report.remarks)


def test_a_film_that_was_cut_and_stamped_anew_is_not_signed_for(
    source: Path, covered: Path
) -> None:
    cut = film(covered.with_name("cut.mkv"), numbered(list(pictures(covered))[20:]))
    report = look(source, cut).report
    assert (report.findings, report.exit_status) == ((), 5)
    assert (report.timing.lacking, report.timing.order, report.timing.lag) == (20, "shifted", -20)
    assert "--frames 20- goes by that" in "".join(report.remarks)


def test_frames_that_are_open_gone_added_or_weak_are_named_exactly(
    source: Path, holed: Path
) -> None:
    result = look(source, holed)
    report = result.report
    assert report.exit_status == 7
    rows = {(row.frames, row.extra): row for row in report.findings}
    assert rows.keys() == {("10-14", False), ("29", True), ("44-59", False)}
    opened = rows["10-14", False]
    assert opened.verdict is Verdict.RECOGNISABLE
    assert (opened.start, opened.end) == (pytest.approx(10 / RATE), pytest.approx(14 / RATE))
    assert opened.likeness > 0.9
    weak = rows["44-59", False]
    assert weak.verdict is Verdict.RECOGNISABLE
    assert report.limits.same < weak.likeness < opened.likeness
    assert {opened.track, weak.track} == {report.tracks[0].track}
    added = rows["29", True]  # counted in the output
    assert (added.verdict, added.track) == (Verdict.UNEXPLAINED, None)
    assert added.start == pytest.approx((EXTRA_AFTER + 0.5) / RATE)
    assert (report.timing.lacking, report.timing.extra) == (len(GONE), 1)
    shots = {finding.frames: shot for finding, shot in result.shots}
    assert all(shot is not None for shot in shots.values())


def test_a_copy_of_a_part_shows_everybody_in_it(source: Path, folder: Path) -> None:
    part = film(folder / "part.mkv", numbered(list(pictures(source))[20:32]))
    report = look(source, part, start=20, stop=32).report
    assert report.exit_status == 7
    (row,) = report.findings
    assert (row.frames, row.verdict) == ("20-31", Verdict.RECOGNISABLE)
    assert row.start == pytest.approx(20 / RATE), "counted from the input's first frame"
    assert report.timing.shift == pytest.approx(-20 / RATE)
    assert report.timing.paired == 12


@pytest.mark.slow
def test_a_kept_person_is_listed_as_kept_and_without_the_gallery_as_visible(
    model_store: ModelStore, folder: Path
) -> None:
    shown = [people.picture(model_store, ["person-a-1", "person-b-1"], 0.1 * n) for n in range(8)]
    source = people.film(folder / "two.mp4", shown)
    gallery = people.gallery(model_store, folder / "gallery", {"anna": ["person-a-2"]})
    output = folder / "two.covered.mp4"
    settings = {"embed.gallery": str(gallery)}
    mpflow.run(mpflow.RunSpec(source, output, preset="redact-except", set=settings))
    kept = look(source, output, people="except", gallery=gallery).report
    assert kept.exit_status == 0
    asked = kept.asked.people, kept.asked.persons, kept.asked.photos
    assert asked == ("except", 1, 1)
    (row,) = kept.kept
    assert (row.frames, row.verdict) == ("0-7", Verdict.KEPT)
    strict = look(source, output).report
    assert strict.exit_status == 7
    (row,) = strict.findings
    assert (row.frames, row.verdict) == ("0-7", Verdict.RECOGNISABLE)
    assert any("--keep DIR allows for that" in remark for remark in strict.remarks)
