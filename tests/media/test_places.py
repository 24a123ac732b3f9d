"""Reading on from any place gives what reading from the beginning gives there, bit for bit."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import clips
import numbered
import pytest
from clips import Clip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpflow.media.passes import Astray, Pass
from mpflow.media.ranges import Frames
from mpflow.spec import Place

ALL = {**numbered.KINDS, **numbered.COUNTED}


@pytest.mark.parametrize("kind", ALL)
def test_every_frame_number_is_found_in_every_kind_of_input(tmp_path: Path, kind: str) -> None:
    path = ALL[kind](tmp_path)
    linear = numbered.read(path)
    warnings: list[str] = []
    reader = numbered.reader(path, warnings=warnings)
    for number in range(len(linear) + 1):
        assert numbered.rows(reader.pictures(Place(number))) == linear[number:]
    assert reader.frames == len(linear)
    assert reader.damaged == 0
    assert len(warnings) == (kind in numbered.COUNTED)
    reader.close()


@pytest.mark.parametrize("kind", ["mp4", "mkv", "ts", "mpg", "open gop ts", "raw h264"])
def test_a_time_stamp_finds_the_picture_after_it(tmp_path: Path, kind: str) -> None:
    path = ALL[kind](tmp_path)
    linear = numbered.read(path)
    for number in range(0, 60, 7):
        after = linear[number][0]
        assert numbered.read(path, Place(number + 1, after)) == linear[number + 1 :]


@pytest.mark.parametrize("kind", ["mp4", "ts", "mpg"])
def test_frame_accurate_seek_lands_on_the_very_frame(tmp_path: Path, kind: str) -> None:
    path = ALL[kind](tmp_path)
    reader = numbered.reader(path)
    for number in (*range(37, 42), *range(41, 36, -1)):
        assert numbered.number_of(next(reader.pictures(Place(number)))) == number
    reader.close()


@pytest.mark.parametrize("kind", ["mp4", "ts", "mpg"])
def test_decoder_threads_do_not_change_what_a_place_gives(tmp_path: Path, kind: str) -> None:
    path = ALL[kind](tmp_path)
    linear = numbered.read(path, threads=1)
    assert numbered.read(path, threads=4) == linear
    assert numbered.read(path, Place(41), threads=4) == linear[41:]


@pytest.mark.parametrize("kind", ["mp4", "mkv", "ts", "mpg", "flv", "avi"])
def test_seeking_reads_no_more_than_it_has_to(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ALL[kind](tmp_path)
    reader = numbered.reader(path)
    next(reader.pictures(Place(50)))  # reads the index
    monkeypatch.delattr(Pass, "from_beginning")
    assert numbered.number_of(next(reader.pictures(Place(55)))) == 55


def test_a_counted_place_is_found_by_counting(tmp_path: Path) -> None:
    path = numbered.KINDS["mp4"](tmp_path)
    linear = numbered.read(path)
    assert numbered.read(path, Place(37, counted=True)) == linear[37:]
    assert numbered.read(path, Place(37, linear[36][0], counted=True)) == linear[37:]


def test_what_is_read_twice_is_counted_once(tmp_path: Path) -> None:
    path = numbered.make(tmp_path / "a.mp4", Clip(pts=range(120), options={"g": "30"}))
    spoil(path)
    once = numbered.reader(path)
    linear = numbered.rows(once)
    twice = numbered.reader(path)
    pictures = twice.pictures()
    for _ in range(100):
        next(pictures)
    assert numbered.rows(twice.pictures(Place(40, linear[39][0]))) == linear[40:]
    assert twice.summary() == once.summary()
    assert once.damaged > 0
    assert once.expected == 120


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
def test_damage_before_a_place_does_not_move_what_comes_after_a_time_stamp(
    tmp_path: Path, suffix: str
) -> None:
    clip = Clip(pts=range(120), options={"g": "30", "bf": "2"})
    path = numbered.make(tmp_path / f"a.{suffix}", clip)
    spoil(path)
    linear = numbered.read(path)
    for number in range(1, len(linear), 7):
        assert numbered.read(path, Place(number, linear[number - 1][0])) == linear[number:]


def test_frames_that_damage_took_are_missed_alike_from_every_place(tmp_path: Path) -> None:
    path = numbered.make(tmp_path / "a.mp4", Clip(pts=range(90), options={"g": "15", "bf": "2"}))
    payloads = [payload for *_, payload in clips.packets(path, 0)]
    data = path.read_bytes()
    for number in (20, 21, 22, 50, 70):
        data = data.replace(payloads[number], bytes(len(payloads[number])))
    path.write_bytes(data)
    linear = numbered.read(path)
    assert len(linear) < 90
    stamps = [stamp for stamp, *_ in linear]
    for number in range(len(linear) + 1):
        after = linear[number - 1][0] if number else None
        for place in (Place(number, after), Place(number, counted=True)):
            assert [stamp for stamp, *_ in numbered.read(path, place)] == stamps[number:]


def spoil(path: Path) -> None:
    """Overwrite some bytes inside the media data."""
    data = bytearray(path.read_bytes())
    dice = random.Random(5)
    for _ in range(6):
        at = dice.randrange(len(data) // 4, len(data) * 3 // 4)
        data[at : at + 60] = dice.randbytes(60)
    path.write_bytes(data)


def test_where_seeking_comes_to_other_pictures_they_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = numbered.make(
        tmp_path / "a.mp4", Clip(pts=range(60), codec="mpeg4", options={"g": "10"})
    )
    linear = numbered.read(path)
    warnings: list[str] = []
    reader = numbered.reader(path, warnings=warnings)
    monkeypatch.setattr("mpflow.media.passes.fingerprint", lambda packet: 0)
    for number in (45, 55, 45):
        assert numbered.rows(reader.pictures(Place(number))) == linear[number:]
    assert len(warnings) == 1
    assert "counting its pictures" in warnings[0]


def test_a_reading_that_goes_astray_on_the_way_is_taken_over_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = numbered.make(
        tmp_path / "a.mp4", Clip(pts=range(60), codec="mpeg4", options={"g": "10", "bf": "0"})
    )
    linear = numbered.read(path)
    reader = numbered.reader(path)
    next(reader.pictures(Place(25)))  # reads the index
    index = reader._index
    index.prints[33] ^= 1
    assert numbered.rows(reader.pictures(Place(25))) == linear[25:]


class _Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and no ranges of bytes."""

    def log_message(self, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, *args: object) -> None:
        """A reader that has what it wants hangs up."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    served = _Server(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=served.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}"
    served.shutdown()
    thread.join()
    served.server_close()


def test_a_server_that_cannot_seek_is_read_on_up_to_the_place(tmp_path: Path, server: str) -> None:
    path = numbered.make(tmp_path / "a.mkv", Clip(pts=range(240), codec="ffv1"))
    linear = numbered.read(path)
    warnings: list[str] = []
    reader = numbered.reader(f"{server}/a.mkv", warnings=warnings)
    assert numbered.rows(reader.pictures(Place(150))) == linear[150:]
    assert numbered.rows(reader.pictures(Place(45))) == linear[45:]
    reader.close()
    assert warnings == []


def test_where_a_server_has_to_seek_and_cannot_frames_are_counted(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = numbered.make(tmp_path / "a.mkv", Clip(pts=range(60), codec="ffv1"))
    linear = numbered.read(path)

    def refuse(*args: object) -> None:
        raise Astray

    monkeypatch.setattr(Pass, "_seek", refuse)
    warnings: list[str] = []
    reader = numbered.reader(f"{server}/a.mkv", Frames(40, 50), warnings=warnings)
    assert numbered.rows(reader) == linear[40:50]
    assert numbered.rows(reader.pictures(Place(5))) == linear[45:50]
    reader.close()
    assert ["by counting its pictures" in text for text in warnings] == [True]


@pytest.fixture(scope="module")
def hard_clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[numbered.Row]]:
    clip = Clip(pts=range(150), codec="mpeg2video", options=numbered.MPEG2, **numbered.PAL)
    path = numbered.make(tmp_path_factory.mktemp("hard") / "a.mpg", clip)
    return path, numbered.read(path)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(places=st.lists(st.tuples(st.integers(0, 150), st.booleans()), min_size=1, max_size=4))
def test_any_walk_over_places_gives_the_right_frames(
    hard_clip: tuple[Path, list[numbered.Row]], places: list[tuple[int, bool]]
) -> None:
    path, linear = hard_clip
    reader = numbered.reader(path)
    for frame, by_stamp in places:
        after = linear[frame - 1][0] if by_stamp and frame else None
        assert numbered.rows(reader.pictures(Place(frame, after))) == linear[frame:]
    reader.close()
