"""Live output to real servers, and read from them by somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from catchers import Catch, Catcher
from sending import RATE, Feed
from servers import Nginx, RtspServer, needs_nginx, needs_rtsp_server


def in_step(caught: Catch) -> list[float]:
    return [min((burst - flash for burst in caught.bursts), key=abs) for flash in caught.flashes]


@pytest.mark.slow
@needs_nginx
def test_a_server_that_is_stopped_for_three_seconds_gets_the_stream_again(tmp_path: Path) -> None:
    server = Nginx.at(tmp_path)
    feed = Feed(server.url, {"gop_seconds": 0.5}, sound="aac")
    with feed.running():
        with server.running():
            feed.send(2)
        feed.send(3, begin=2)
        with server.running():
            feed.send(5, begin=5)
            with Catcher(server.url) as viewer:
                feed.send(6, begin=10)
                summary = feed.finish()
                caught = viewer.result()
    assert [kind for kind, _ in feed.alerts] == ["reconnect"]
    assert feed.counts["reconnects"] == 1
    assert summary.frames + feed.counts["undelivered"] == 16 * RATE
    assert caught.streams == {"video": "h264", "audio": "aac"}
    assert len(caught.pictures) > 2 * RATE
    assert caught.times == sorted(caught.times)
    assert in_step(caught) == pytest.approx([0] * len(caught.flashes), abs=0.03)


@pytest.mark.slow
@needs_rtsp_server
def test_a_stream_is_announced_to_an_rtsp_server_and_read_from_it() -> None:
    server = RtspServer.at_free_ports()
    feed = Feed(server.inlet, {"gop_seconds": 0.5, "transport": "udp"}, sound="aac")
    with server.running(), feed.running():
        feed.send(2)
        with Catcher(server.url, rtsp_transport="udp") as viewer:
            feed.send(6, begin=2)
            feed.finish()
            caught = viewer.result()
    assert feed.alerts == []
    assert caught.streams == {"video": "h264", "audio": "aac"}
    assert len(caught.pictures) > 2 * RATE
    # it is sent in step (test_send_networks); this server and its viewer put two clocks together
    assert in_step(caught) == pytest.approx([0] * len(caught.flashes), abs=0.08)
