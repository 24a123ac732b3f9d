"""Live output to real listeners on loopback: all pictures, in order, on time, sound in step."""

from __future__ import annotations

import socket

import pytest
from catchers import Catch, Catcher, free_port
from sending import RATE, Feed

SECONDS = 4


def listener(protocol: str) -> tuple[str, Catcher]:
    """Where to send, and who listens there."""
    if protocol == "udp":
        port = free_port(socket.SOCK_DGRAM)
        return f"udp://127.0.0.1:{port}", Catcher(f"udp://127.0.0.1:{port}", port)
    port = free_port()
    url = f"{protocol}://127.0.0.1:{port}"
    match protocol:
        case "tcp":
            return url, Catcher(f"{url}?listen=1", port)
        case "rtmp":
            return f"{url}/live/key", Catcher(f"{url}/live/key", port, listen="1")
        case "rtsp":
            listening = {"rtsp_flags": "listen", "listen_timeout": "30"}
            return f"{url}/live", Catcher(f"{url}/live", port, **listening)
        case _:
            return f"{url}/x.ts", Catcher(f"{url}/x.ts", port, listen="1", method="PUT")


def in_step(caught: Catch) -> list[float]:
    """How much later each tone is heard than its flash is seen, in seconds."""
    return [min((burst - flash for burst in caught.bursts), key=abs) for flash in caught.flashes]


@pytest.mark.parametrize("protocol", ["tcp", "rtmp", "rtsp", "udp", "http"])
def test_pictures_and_sound_arrive_in_step(protocol: str) -> None:
    url, catcher = listener(protocol)
    feed = Feed(url, sound="aac")
    with catcher, feed.running():
        feed.send(SECONDS)
        summary = feed.finish()
        caught = catcher.result()
    assert summary.frames == SECONDS * RATE
    assert caught.streams == {"video": "h264", "audio": "aac"}
    assert len(caught.pictures) >= SECONDS * RATE - 2
    assert caught.times == sorted(caught.times)
    assert len(caught.flashes) >= SECONDS - 2
    assert in_step(caught) == pytest.approx([0] * len(caught.flashes), abs=0.03)
    assert feed.warnings == []
    assert feed.counts == {}
