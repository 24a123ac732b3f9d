"""Swaps of real films: whose face is seen, where nothing may be drawn, and what marks them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import clips
import fits
import numpy as np
import people
import pytest
import scenes
from faceclips import FaceClip, face_clip

import mpflow
from mpflow.jobs.verify import Verdict, verify
from mpflow.models.align import crop
from mpflow.models.sessions import open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore
from mpflow.provenance.reading import read_mark

FRAMES = 36
TAKES = ("occluded", "profile")
LOSSLESS = {"encode.codec": "ffv1"}
MARKED = 6
"""Steps of luma by which no pixel is changed to mark it."""

Pictures = list[scenes.Picture]


@pytest.fixture(scope="module")
def sface(model_store: ModelStore) -> SFace:
    return SFace(open_session(model_store.path("sface"), device="cpu")[0])


@pytest.fixture(scope="module")
def clip(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> FaceClip:
    """A head that posts hide, and one that turns to both sides."""
    folder = tmp_path_factory.mktemp("photos")
    return face_clip(model_store, folder, height=480, takes=TAKES, frames=FRAMES)


def swap(
    store: ModelStore, film: Path, output: Path, photo: str, stop: int | None = None
) -> mpflow.Report:
    settings = {**LOSSLESS, "swap.sources": [str(store.path(photo))]}
    spec = mpflow.RunSpec(str(film), str(output), preset="swap", set=settings, stop=stop)
    return mpflow.run(spec)


def pictures(path: Path, layout: str = "bgr24", stop: int | None = None) -> Pictures:
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        found = [frame.to_ndarray(format=layout) for frame in container.decode(video=0)]
    return found[:stop]


def only_face(store: ModelStore, sface: SFace, picture: scenes.Picture) -> np.ndarray:
    """The embedding of the one face of a picture."""
    (face,) = fits.faces_of(store, picture)
    return sface.embed([crop(picture, np.array(face.points, np.float32))])[0]


@pytest.mark.parametrize(
    ("film", "photo"),
    [("carphone", "astronaut"), ("carphone", "impostor-2"), ("franck", "person-a-2")],
)
def test_every_face_is_like_the_source_and_not_like_the_target(
    model_store: ModelStore, sface: SFace, tmp_path: Path, film: str, photo: str
) -> None:
    source, output = model_store.path(film), tmp_path / "out.mkv"
    report = swap(model_store, source, output, photo, stop=13)
    (facts,) = (stage.facts for stage in report.stages if stage.name == "swap")
    assert facts["similarity"]["least"] > 0.4
    wanted = only_face(model_store, sface, scenes.read(model_store, photo))
    for before, after in zip(pictures(source, stop=13)[::4], pictures(output)[::4], strict=True):
        was, now = (only_face(model_store, sface, picture) for picture in (before, after))
        assert now @ wanted > max(now @ was, 0.42)


@pytest.mark.slow
def test_nothing_is_drawn_but_where_a_face_is_and_the_rest_is_marked_at_most(
    model_store: ModelStore, clip: FaceClip, tmp_path: Path
) -> None:
    """Before and after a post, and in profile, too, where tracks reach far beyond the face."""
    output = tmp_path / "out.mkv"
    swap(model_store, clip.path, output, "person-a-2")
    height = clip.truth.height
    pairs = zip(pictures(clip.path, "yuv420p"), pictures(output, "yuv420p"), strict=True)
    swapped = 0
    for marks, (before, after) in zip(clip.truth.frames, pairs, strict=True):
        off = np.abs(after.astype(int) - before)
        drawn = off[:height] > MARKED
        swapped += bool(drawn.any())
        for mark in marks:
            (x1, y1, x2, y2), more = mark.box, 0.3 * (mark.box[3] - mark.box[1])
            rows = slice(max(0, round(y1 - more)), round(y2 + more))
            drawn[rows, max(0, round(x1 - more)) : round(x2 + more)] = False
            if mark.visible == 0:
                assert not off[height:].any(), "a face that is all hidden is not drawn"
        assert not drawn.any()
    assert swapped > 0.7 * 2 * FRAMES


def test_others_are_kept_as_they_are_but_for_the_mark(
    model_store: ModelStore, tmp_path: Path
) -> None:
    film, output = tmp_path / "in.mp4", tmp_path / "out.mkv"
    cast = ["person-a-1", "impostor-1"]
    people.film(film, (people.picture(model_store, cast, time / 12) for time in range(8)))
    whom, photo = (str(model_store.path(name)) for name in ("person-a-2", "astronaut"))
    settings = {**LOSSLESS, "embed.photos": [whom], "swap.map": [f"{whom}={photo}"]}
    mpflow.run(mpflow.RunSpec(str(film), str(output), preset="swap+embed", set=settings))
    for before, after in zip(clips.planes(film), clips.planes(output), strict=True):
        luma, *chroma = zip(before, after, strict=True)
        for old, new in chroma:
            changed = (old != new)[:, people.WIDTH // 2 :]
            assert not changed.any(), "of the other one"
            assert (old != new).any()
        off = np.abs(luma[1].astype(int) - luma[0])[:, people.place(1)]
        assert 0 < off.max() <= MARKED


@pytest.mark.slow
def test_marks_are_read_from_what_others_make_of_the_film(
    model_store: ModelStore, tmp_path: Path
) -> None:
    source, output = model_store.path("franck"), tmp_path / "out.mkv"
    swap(model_store, source, output, "astronaut", stop=60)
    found = verify(output)
    assert (found.verdict, found.contradictions) == (Verdict.MARKED, ())
    assert found.says == ("synthetic",)
    assert found.mark is not None
    frames = pictures(output, "yuv420p")
    made = {
        "whole": encoded(tmp_path / "whole.mp4", frames),
        "720p": encoded(tmp_path / "720p.mp4", frames, (900, 720)),
        "middle": encoded(tmp_path / "middle.mp4", frames[20:40]),
    }
    for name, path in made.items():
        mark = read_mark(path)
        assert mark is not None, name
        assert (mark.kind, mark.run_id) == ("composite", found.mark.run_id)
    assert read_mark(source) is None


def encoded(path: Path, frames: Pictures, size: tuple[int, int] | None = None) -> Path:
    """By x264 at crf 23."""
    first = av.VideoFrame.from_ndarray(frames[0], format="yuv420p")
    width, height = size or (first.width, first.height)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=25, options={"crf": "23", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number, planes in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(planes, format="yuv420p").reformat(width, height)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path
