"""Losses of a live input that no connection tells of: pictures that stop, and ends of all kinds."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from receiving import Receiving
from senders import free_port, sender

from mpflow.errors import InputError

QUICK = {"retry": 20, "read_timeout": 1.5}


@pytest.mark.parametrize("other", [{"pid": 0x300}, {"codec": "libx265"}], ids=["ids", "codec"])
def test_a_sender_that_begins_anew_as_another_stream_is_connected_again(
    other: dict[str, object],
) -> None:
    url = f"udp://127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    to = f"{url}?pkt_size=1316"
    with Receiving(url, QUICK) as receiving:
        with sender(to, "mpegts", 60):
            receiving.begin(receiving.probe())
            pictures = receiving.pictures()
            while len(receiving.times) < 30:
                next(pictures)
        with sender(to, "mpegts", 60, **other):
            while not receiving.counts["reconnects"]:
                next(pictures)
            before = len(receiving.times)
            while len(receiving.times) < before + 30:
                next(pictures)
    assert all(a < b for a, b in pairwise(receiving.stamps))
    assert receiving.counts["reconnects"] == 1
    (alert,) = receiving.alerts
    assert re.search(r"came for (1\.[5-9]|[2-9]|\d\d)", alert), alert


def test_a_picture_that_stays_away_while_sound_comes_is_a_loss_for_good() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    options = {"listen": True, "retry": 1, "read_timeout": 1}
    with (
        sender(url, "mpegts", 60, dark_at=2),
        Receiving(url, options) as receiving,
        pytest.raises(InputError, match="was lost, and did not come back within 1 s: "),
    ):
        receiving.run()
    assert len(receiving.times) >= 40
    assert "no picture came for 1 s" in receiving.alerts[0]


def test_retry_runs_out_though_sound_comes() -> None:
    url = f"udp://127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    with (
        sender(f"{url}?pkt_size=1316", "mpegts", 60, dark_at=3),
        Receiving(url, {"retry": 2, "read_timeout": 1}) as receiving,
        pytest.raises(InputError, match="did not come back within 2 s"),
    ):
        receiving.run()
    assert receiving.times and len(receiving.alerts) == 1


def test_a_picture_now_and_then_keeps_its_connection_and_its_sound() -> None:
    """One picture in three seconds, where packets are waited for a second."""
    url = f"tcp://127.0.0.1:{free_port()}"
    options = {"listen": True, "retry": 0, "read_timeout": 1}
    with sender(url, "mpegts", 11, every=75), Receiving(url, options) as receiving:
        receiving.run()
    assert len(receiving.times) >= 3
    assert receiving.alerts == []


def test_nothing_waits_on_after_an_input_was_left() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    options = {"listen": True, "read_timeout": 600}
    before = set(threading.enumerate())
    with sender(url, "mpegts", 60, pause_at=1, pause=60), Receiving(url, options) as receiving:
        receiving.run(lambda self: self.times[-1] > 0.6)
        left = set(threading.enumerate()) - before
        for thread in left:
            thread.join(30)
        assert not any(thread.is_alive() for thread in left)


def test_a_pipe_that_nobody_writes_into_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in")
    with (
        Receiving(str(tmp_path / "in"), {"open_timeout": 0.5}) as receiving,
        pytest.raises(InputError, match="nobody writes into it"),
    ):
        receiving.probe()


def test_a_pipe_is_read_and_ends_with_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in")
    with (
        sender(str(tmp_path / "in"), "mpegts", 2),
        Receiving(str(tmp_path / "in"), {"retry": 0.5}) as receiving,
    ):
        receiving.run()
    assert len(receiving.stamps) + receiving.counts["missed"] == 50
    assert receiving.sound


def test_a_pipe_that_falls_silent_is_lost(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in")
    options = {"retry": 1, "read_timeout": 1, "open_timeout": 1}
    with (
        sender(str(tmp_path / "in"), "mpegts", 60, pause_at=1, pause=60),
        Receiving(str(tmp_path / "in"), options) as receiving,
        pytest.raises(InputError, match="was lost"),
    ):
        receiving.run()
    assert receiving.times and "nothing came for 1 s" in receiving.alerts[0]


def test_a_driver_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr("mpflow.media.address.Address.open", lambda *_, **__: never.wait())
    began = time.monotonic()
    with (
        Receiving("v4l2:/dev/null", {"open_timeout": 0.5}) as receiving,
        pytest.raises(InputError, match="does not answer"),
    ):
        receiving.probe()
    assert time.monotonic() - began > 0.5


@pytest.mark.parametrize(
    ("url", "container"),
    [("tcp://127.0.0.1:{port}", "mpegts"), ("rtsp://127.0.0.1:{port}/cam", "rtsp")],
    ids=["tcp", "rtsp"],
)
def test_an_end_that_cannot_be_told_from_a_loss_is_one(url: str, container: str) -> None:
    url = url.format(port=free_port())
    with (
        sender(url, container, 1),
        Receiving(url, {"listen": True, "retry": 1.5}) as receiving,
        pytest.raises(InputError, match=r"was lost, and did not come back within 1\.5 s"),
    ):
        receiving.run()
    assert len(receiving.times) > 20


@pytest.mark.parametrize(
    ("url", "container"),
    [("rtmp://127.0.0.1:{port}/live/key", "flv"), ("http://127.0.0.1:{port}/in", "mpegts")],
    ids=["rtmp", "http"],
)
def test_an_input_that_ended_and_stays_away_ends_the_run_in_order(url: str, container: str) -> None:
    url = url.format(port=free_port())
    with (
        sender(url, container, 1),
        Receiving(url, {"listen": True, "retry": 1.5}) as receiving,
    ):
        receiving.run()
    assert len(receiving.stamps) + receiving.counts["missed"] == 25
    assert len(receiving.alerts) == 1 and "' ended; connecting again" in receiving.alerts[0]
    assert receiving.warnings == []
