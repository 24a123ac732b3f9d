"""The live source against real senders on loopback: listening, stalls, ends and returns."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import nullcontext
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import av
import clips
import numpy as np
import pytest
from clips import Clip
from receiving import Receiving
from senders import free_port, sender

from mpflow.errors import InputError
from mpflow.memory import MemorySlot
from mpflow.spec import Place

LISTENED = [
    ("tcp://127.0.0.1:{port}", "mpegts"),
    ("rtmp://127.0.0.1:{port}/live/key", "flv"),
    ("rtsp://127.0.0.1:{port}/cam", "rtsp"),
    ("http://127.0.0.1:{port}/in", "mpegts"),
]


def rising(stamps: list[int]) -> bool:
    return all(a < b for a, b in pairwise(stamps))


@pytest.mark.parametrize(("url", "container"), LISTENED, ids=lambda part: part.split(":")[0])
def test_every_picture_of_a_sender_comes_with_its_sound(url: str, container: str) -> None:
    url = url.format(port=free_port())
    with (
        sender(url, container, 2),
        Receiving(url, {"listen": True, "retry": 0}) as receiving,
    ):
        summary = receiving.run()
    assert len(receiving.stamps) + receiving.counts["missed"] == 50
    assert rising(receiving.stamps)
    assert receiving.times[-1] - receiving.times[0] == pytest.approx(1.96, abs=0.05)
    assert abs(receiving.times[0]) < 0.1
    assert receiving.sound[-1].time == pytest.approx(receiving.times[-1], abs=0.3)
    assert summary.missed == receiving.counts["missed"]
    assert (receiving.warnings, receiving.alerts) == ([], [])


def test_udp_comes_with_pictures_in_order_and_its_silence_is_a_loss() -> None:
    port = free_port(socket.SOCK_DGRAM)
    with (
        sender(f"udp://127.0.0.1:{port}?pkt_size=1316", "mpegts", 3, bframes=2),
        Receiving(f"udp://127.0.0.1:{port}", {"retry": 0, "read_timeout": 1}) as receiving,
        pytest.raises(InputError, match="nothing came for 1 s"),
    ):
        receiving.run()
    assert rising(receiving.stamps)
    assert len(receiving.stamps) + receiving.counts["missed"] >= 50


def test_pixels_are_those_of_the_input(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mp4", Clip(pts=range(3)))
    with Receiving(str(path)) as receiving, av.open(path) as container:
        media = receiving.probe()
        receiving.begin(media)
        video = media.video
        for picture, decoded in zip(receiving.pictures(), container.decode(video=0), strict=True):
            slot = MemorySlot.of(video.pixel_format, video.width, video.height)
            picture.fill(slot.frame())
            planes = np.concatenate([plane.ravel() for plane in slot.frame().planes])
            assert np.array_equal(planes, decoded.to_ndarray().ravel())


def test_a_short_silence_is_borne() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    with (
        sender(url, "mpegts", 3, pause_at=1, pause=1.5),
        Receiving(url, {"listen": True, "retry": 0, "read_timeout": 4}) as receiving,
    ):
        receiving.run()
    assert receiving.alerts == []
    assert len(receiving.stamps) + receiving.counts["missed"] == 75
    assert max(receiving.ages) > 1


def test_a_sender_that_comes_back_is_taken_up_again_on_one_time_line() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    with Receiving(url, {"listen": True, "retry": 30}) as receiving:
        with sender(url, "mpegts", 1):
            receiving.begin(receiving.probe())
            pictures = receiving.pictures()
            while not receiving.times or receiving.times[-1] < 0.9:
                next(pictures)
        lost, before = time.monotonic(), len(receiving.times)
        with sender(url, "mpegts", 5, size="240x180"):
            next(pictures)
            gap = time.monotonic() - lost
            while len(receiving.times) < before + 50:
                next(pictures)
        receiving.leave = True
        assert list(pictures) == []
    assert rising(receiving.stamps)
    assert receiving.counts["reconnects"] == 1
    assert receiving.times[before] - receiving.times[before - 1] == pytest.approx(gap, abs=1)
    late = [packet for packet in receiving.sound if packet.time > receiving.times[before]]
    assert late and float(late[-1].time) == pytest.approx(receiving.times[-1], abs=0.3)
    assert receiving.alerts == [
        f"reconnect: '{url}' was lost: it ended; connecting again",
    ]
    assert any("changes to 240x180" in text for text in receiving.warnings)


def test_a_silent_sender_is_lost_and_found_by_a_new_connection() -> None:
    url = f"rtmp://127.0.0.1:{free_port()}/live/key"
    options = {"listen": True, "retry": 30, "read_timeout": 0.7}
    with Receiving(url, options) as receiving, sender(url, "flv", 30, pause_at=1, pause=60):
        receiving.begin(receiving.probe())
        pictures = receiving.pictures()
        while not receiving.times or receiving.times[-1] < 0.6:
            next(pictures)
        with sender(url, "flv", 30):
            while not receiving.counts["reconnects"]:
                next(pictures)
    assert rising(receiving.stamps)
    assert "nothing came for 0.7 s" in receiving.alerts[0]
    assert receiving.counts["reconnects"] == 1


def test_an_input_that_broke_off_and_stays_away_is_lost() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    options = {"listen": True, "retry": 1.5, "read_timeout": 0.5}
    with (
        sender(url, "mpegts", 60, pause_at=1, pause=60),
        Receiving(url, options) as receiving,
        pytest.raises(InputError, match=r"did not come back within 1\.5 s"),
    ):
        receiving.run()
    assert receiving.times


def test_leaving_does_not_wait_for_a_silent_input() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    options = {"listen": True, "retry": 60, "read_timeout": 60}
    with sender(url, "mpegts", 60, pause_at=1, pause=60), Receiving(url, options) as receiving:
        receiving.begin(receiving.probe())
        left = threading.Event()

        def leave() -> None:
            receiving.leave = True
            left.set()

        for _ in receiving.pictures():
            if receiving.times[-1] > 0.6 and not left.is_set():
                threading.Timer(0.3, leave).start()
        assert left.is_set()
        receiving.stage.end()


def test_leaving_while_nobody_connects() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    with sender(url, "mpegts", 1), Receiving(url, {"listen": True, "retry": 60}) as receiving:
        receiving.begin(receiving.probe())
        timer = threading.Timer(2.5, lambda: setattr(receiving, "leave", True))
        timer.start()
        receiving.go_on()
        timer.join()
    assert receiving.alerts


def test_an_input_that_is_not_there_at_the_start_is_an_error_at_once() -> None:
    with (
        Receiving(f"rtmp://127.0.0.1:{free_port()}/live/x") as receiving,
        pytest.raises(InputError, match="connection refused"),
    ):
        receiving.probe()


def test_a_listener_says_that_it_waits_and_that_nobody_came(
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = {"listen": True, "listen_timeout": 0.5}
    url = f"tcp://127.0.0.1:{free_port()}"
    with (
        caplog.at_level("INFO", "mpflow"),
        Receiving(url, options) as receiving,
        pytest.raises(InputError, match="nobody came"),
    ):
        receiving.probe()
    assert f"listening on {url}; waiting 0.5 s for its sender" in caplog.messages


def test_without_a_picture_there_is_nothing_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("no video", encoding="utf-8")
    with Receiving(str(path)) as receiving, pytest.raises(InputError, match="not a media file"):
        receiving.probe()


def test_a_replaced_worker_connects_again_and_goes_on_in_time() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    with sender(url, "mpegts", 1), Receiving(url, {"listen": True}) as first:
        media = first.probe()
        first.begin(media)
        first.go_on(lambda receiving: receiving.times[-1] > 0.5)
    with Receiving(url, {"listen": True, "retry": 20}) as second, sender(url, "mpegts", 30):
        second.begin(media)
        second.go_on(lambda receiving: len(receiving.times) >= 10)
    assert second.times[0] > first.times[-1]
    assert rising(second.stamps)
    assert second.counts["reconnects"] == 0


def test_sound_can_be_left_out() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    options = {"listen": True, "retry": 0, "audio": False}
    with sender(url, "mpegts", 1), Receiving(url, options) as receiving:
        receiving.run()
    assert receiving.sound == [] and receiving.times


def test_a_file_is_played_by_its_clock_and_ends(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mp4", Clip(pts=range(30)))
    began = time.monotonic()
    with Receiving(str(path)) as receiving:
        receiving.run()
    assert len(receiving.stamps) == 30
    assert time.monotonic() - began > receiving.times[-1] - receiving.times[0]


def test_a_file_can_be_played_again_and_again(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mp4", Clip(pts=range(10)))
    with Receiving(str(path), {"loop": True}) as receiving:
        receiving.run(lambda self: len(self.stamps) >= 25)
    assert set(np.diff(receiving.stamps)) == {receiving.stamps[1] - receiving.stamps[0]}


@pytest.mark.parametrize("loop", [False, True])
def test_a_file_is_read_on_after_its_worker_was_replaced(tmp_path: Path, loop: bool) -> None:
    path = clips.make(tmp_path / "a.mp4", Clip(pts=range(40), options={"g": "10"}))
    with Receiving(str(path)) as first:
        media = first.probe()
        first.begin(media)
        first.go_on(lambda self: len(self.stamps) == 15)
    step = first.stamps[1] - first.stamps[0]
    with Receiving(str(path), {"loop": loop}) as second:
        second.begin(media)
        given = second.pictures(Place(15, first.stamps[-1]))
        stamps = [picture.pts for picture, _ in zip(given, range(20), strict=False)]
    assert stamps == [first.stamps[-1] + step * (n + 1) for n in range(20)]


def test_a_live_stream_of_a_web_server_is_read() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as web,
        socket.create_server(("127.0.0.1", 0)) as to,
    ):
        threading.Thread(target=relay, args=(web, to), daemon=True).start()
        url = f"http://127.0.0.1:{web.getsockname()[1]}/live.ts"
        inlet = f"tcp://127.0.0.1:{to.getsockname()[1]}"
        with sender(inlet, "mpegts", 2), Receiving(url, {"retry": 0}) as receiving:
            receiving.run()
    assert len(receiving.stamps) + receiving.counts["missed"] == 50
    assert receiving.sound


def relay(web: socket.socket, inlet: socket.socket) -> None:
    """Answer one request for a stream of unknown length with what a sender sends."""
    with web.accept()[0] as reader, inlet.accept()[0] as source:
        reader.recv(4096)
        reader.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\n\r\n")
        while data := source.recv(65536):
            reader.sendall(data)


@pytest.mark.parametrize("name", ["a.mp4", "a.ts"])
def test_a_recording_on_a_web_server_is_no_live_input(tmp_path: Path, name: str) -> None:
    clips.make(tmp_path / name, Clip(pts=range(30)))
    handler = partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with (
            Receiving(f"http://127.0.0.1:{server.server_port}/{name}") as receiving,
            pytest.raises(InputError, match="is a recording"),
        ):
            receiving.probe()
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *values: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("paced", [False, True], ids=["stream", "file"])
def test_age_stays_bounded_when_pictures_are_taken_too_slowly(tmp_path: Path, paced: bool) -> None:
    """Ten pictures a second are taken of twenty-five or thirty that come."""
    url = f"tcp://127.0.0.1:{free_port()}"
    if paced:
        path = tmp_path / "a.mp4"
        url = str(clips.make(path, Clip(pts=range(180), options={"g": "15"})))
    options = {"max_lag": 0.4, "retry": 0, "listen": not paced}
    sending = nullcontext() if paced else sender(url, "mpegts", 6, key_every=15)
    with sending, Receiving(url, options) as it:
        it.begin(it.probe())
        for _ in it.pictures():
            time.sleep(0.1)  # a stage that is too slow
        assert it.stage.end().missed == it.counts["missed"] > 30
    assert rising(it.stamps)
    assert max(it.ages[10:]) < 2
    assert it.warnings == [
        "pictures are left out: they come late, or decoding cannot keep up with them"
    ]


@pytest.mark.parametrize("loop", [False, True])
def test_a_file_goes_on_by_the_clock_where_nobody_knows_what_was_given_last(
    tmp_path: Path, loop: bool
) -> None:
    path = clips.make(tmp_path / "a.mp4", Clip(pts=range(90), options={"g": "10"}))
    with Receiving(str(path)) as first:
        media = first.probe()
        first.begin(media)
        first.go_on(lambda self: len(self.stamps) == 15)
    with Receiving(str(path), {"loop": loop}) as second:
        second.begin(media)
        second.go_on(lambda self: len(self.stamps) == 10)
    assert first.stamps[-1] < second.stamps[0] <= first.stamps[-1] + 60 * media.video.time_base[1]
    assert rising(second.stamps)
