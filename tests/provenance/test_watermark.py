"""The invisible mark is small, the same everywhere, and is read after what becomes of videos."""

from __future__ import annotations

import hashlib
from itertools import islice
from pathlib import Path

import av
import clips
import marking
import numpy as np
import pytest
from clips import Clip
from marking import RUN, Luma

from mpflow.errors import InputError
from mpflow.memory import MemorySlot
from mpflow.models.store import ModelStore
from mpflow.picture import PIXEL_FORMATS
from mpflow.provenance.pattern import COARSE, FINE, Grid, chips
from mpflow.provenance.payload import Payload
from mpflow.provenance.reading import Reader, read_mark
from mpflow.stages.mark import run_number

SIZE = 854, 480


@pytest.fixture(scope="module")
def views() -> list[Luma]:
    return marking.scenery(*SIZE, 36)


@pytest.fixture(scope="module")
def stored(views: list[Luma]) -> list[Luma]:
    return list(marking.marked_views(views))


@pytest.mark.parametrize(
    ("crf", "size"), [(23, None), (28, None), (23, (1280, 720)), (23, (640, 480)), (20, (642, 362))]
)
def test_it_is_read_after_encoding_and_scaling(
    tmp_path: Path, stored: list[Luma], crf: int, size: tuple[int, int] | None
) -> None:
    found = read_mark(marking.encode(tmp_path / "out.mp4", stored, crf, size))
    assert found is not None
    assert (found.version, found.kind, found.run_id) == (1, "composite", RUN)
    assert found.confidence >= 1
    assert 0 < found.frames <= len(stored)


def test_any_third_has_it(tmp_path: Path, stored: list[Luma]) -> None:
    found = read_mark(marking.encode(tmp_path / "third.mkv", stored[12:24], 23))
    assert found is not None
    assert (found.run_id, found.frames) == (RUN, 3)
    assert read_mark(tmp_path / "third.mkv", most_frames=1) is not None


@pytest.mark.parametrize("suffix", ["mkv", "ts", "flv", "avi", "mov"])
def test_every_container_and_a_damaged_file_are_read(
    tmp_path: Path, stored: list[Luma], suffix: str
) -> None:
    path = marking.encode(tmp_path / f"out.{suffix}", stored, 20)
    found = read_mark(path)
    assert found is not None
    assert found.run_id == RUN
    if suffix in ("mkv", "ts"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        assert read_mark(path) is not None


@pytest.mark.parametrize("rotation", [0, 90, 180, -90])
def test_a_turned_picture_is_read_upright(views: list[Luma], rotation: int, tmp_path: Path) -> None:
    """Both as it is stored, with the turn in the container, and turned for good."""
    turned = [np.ascontiguousarray(np.rot90(v[:, :360])) for v in views[:8]]
    made = list(marking.marked_views(turned, rotation, made="generated"))
    path = tmp_path / "turned.mp4"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 480, 360, "yuv420p"
        stream.options = {"crf": "18"}
        stream.set_display_rotation(rotation)
        for view in made:
            out.mux(
                stream.encode(av.VideoFrame.from_ndarray(view, "gray").reformat(format="yuv420p"))
            )
        out.mux(stream.encode(None))
    found = read_mark(path)
    assert found is not None
    assert (found.run_id, found.kind) == (RUN, "generated")
    upright = Reader()
    for view in made:
        upright.add(np.rot90(view, round(rotation / 90)))
    again = upright.read()
    assert again is not None
    assert again.run_id == RUN


@pytest.mark.parametrize("name", ["bigbuckbunny", "carphone", "bikes"])
def test_films_without_a_mark_have_none(model_store: ModelStore, name: str) -> None:
    assert read_mark(model_store.path(name), most_frames=30) is None


def test_still_and_empty_pictures_have_no_mark(tmp_path: Path, views: list[Luma]) -> None:
    assert read_mark(marking.encode(tmp_path / "plain.mp4", views, 18)) is None
    black = [np.full((480, 854), 16, np.uint8)] * 5
    assert read_mark(marking.encode(tmp_path / "black.mp4", black, 18)) is None
    reader = Reader()
    assert reader.read() is None
    reader.add(np.zeros((1, 1), np.uint8))
    assert reader.read() is None


def test_a_dark_and_even_picture_carries_it(tmp_path: Path) -> None:
    even = [np.full((480, 854), value, np.uint8) for value in (40, 40, 40)]
    found = read_mark(marking.encode(tmp_path / "even.mp4", marking.marked_views(even), 23))
    assert found is not None
    assert found.run_id == RUN


@pytest.mark.parametrize("name", sorted(PIXEL_FORMATS))
@pytest.mark.parametrize("size", [(854, 481), (321, 243), (97, 131)])
def test_only_luma_changes_by_a_step_or_two_in_every_format(
    name: str, size: tuple[int, int]
) -> None:
    slot, random = MemorySlot.of(name, *size), np.random.default_rng(1)
    shift, depth = slot.layout.format.low_bits, slot.layout.format.depth
    for plane in slot.frame().fill_planes():
        plane[:] = random.integers(0, 1 << depth, plane.shape) << shift
    luma, before = slot.frame().planes[0], slot.bytes.copy()
    old = [plane.copy() for plane in slot.frame().planes]
    marking.marked(slot, marking.opened(marking.job(*size)))
    off = (luma.astype(int) >> shift) - (old[0].astype(int) >> shift)
    most = (1 if min(size) >= 240 else 2) << (depth - 8)
    assert (off.min(), off.max()) == (-most, most)
    assert abs(off.mean()) < 0.1 * most
    assert luma.max() <= ((1 << depth) - 1) << shift
    assert not (luma & ((1 << shift) - 1)).any()
    for now, then in zip(slot.frame().planes[1:], old[1:], strict=True):
        assert np.array_equal(now, then)
    assert np.array_equal(slot.restored(), before)


def test_it_is_the_same_on_every_frame_and_above_51_db(views: list[Luma]) -> None:
    made = islice(marking.marked_views(views), 3)
    offs = [one.astype(int) - view for one, view in zip(made, views, strict=False)]
    assert all(np.array_equal(off, offs[0]) for off in offs)
    assert 10 * np.log10(255**2 / np.mean(offs[0] ** 2)) > 51


def test_pictures_that_are_too_small_are_left_and_named() -> None:
    told: list[object] = []
    slot = MemorySlot.of("yuv420p", 200, 90)
    marking.marked(slot, marking.opened(marking.job(200, 90), told=told))
    assert not slot.bytes.any()
    assert not slot.journal
    assert told[0] == ("mark", None)
    assert "too small for the invisible mark" in str(told[1])


def test_the_run_has_one_number_whoever_asks() -> None:
    one = run_number(marking.job(640, 360, size=1000, duration=2.5))
    assert one == run_number(marking.job(640, 360, size=1000, duration=2.5))
    assert one != run_number(marking.job(640, 360, size=1001, duration=2.5))
    assert run_number(marking.job(640, 360, zero=5)) != run_number(marking.job(640, 360, zero=6))
    assert 0 <= one < 1 << 16


@pytest.mark.parametrize(
    ("grid", "digest"), [(FINE, "7807b2bf2582ab5b"), (COARSE, "32ea4c70959581a6")]
)
def test_the_pattern_stays_as_it_is(grid: Grid, digest: str) -> None:
    """Marks that are out there have to be readable for ever."""
    cells = chips(Payload("generated", 513), grid).astype(np.int8)
    assert hashlib.sha256(cells.tobytes()).hexdigest()[:16] == digest


def test_what_is_no_video_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.mp4").write_bytes(b"no video at all")
    with pytest.raises(InputError):
        read_mark(tmp_path / "x.mp4")
    with av.open(str(tmp_path / "sound.wav"), "w") as out:
        stream = out.add_stream("pcm_s16le", rate=8000, layout="mono")
        tone = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
        tone.sample_rate = 8000
        out.mux(stream.encode(tone))
    with pytest.raises(InputError, match="no picture stream"):
        read_mark(tmp_path / "sound.wav")
    clips.make(tmp_path / "small.mp4", Clip(range(3)))
    assert read_mark(tmp_path / "small.mp4") is None
