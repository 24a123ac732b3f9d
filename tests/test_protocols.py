"""The one table of what the ends of a live run can be."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import av
import pytest

from mpflow.protocols import LISTENING, PROTOCOLS, SECURE, VIDEO_MAJOR, WITH_PORT, device_of


def test_every_protocol_has_a_container_that_ffmpeg_writes() -> None:
    for protocol in PROTOCOLS.values():
        assert av.ContainerFormat(protocol.container, "w").is_output


def test_what_is_secure_needs_a_port_or_is_listened_for_is_told_by_the_table() -> None:
    assert frozenset({"rtsps", "rtmps", "tls", "https"}) == SECURE
    assert frozenset({"udp", "tcp", "tls"}) == WITH_PORT
    assert frozenset({"rtsp", "rtmp", "tcp", "http"}) == LISTENING


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/dev/video0", "/dev/video0"),
        ("v4l2:/dev/video12", "/dev/video12"),
        ("v4l2:/dev/cam", "/dev/cam"),
        ("/dev/null", None),
        ("/dev/videos", None),
        ("v4l2:", None),
        ("clip.mp4", None),
        ("a\0b", None),
        ("-", None),
    ],
)
def test_a_device_is_known_by_its_name(text: str, path: str | None) -> None:
    assert device_of(text) == path


def test_a_device_of_another_name_is_known_by_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    camera = SimpleNamespace(st_mode=stat.S_IFCHR | 0o660, st_rdev=os.makedev(VIDEO_MAJOR, 3))
    monkeypatch.setattr(Path, "stat", lambda self: camera)
    assert device_of("/dev/v4l/by-id/usb-camera") == "/dev/v4l/by-id/usb-camera"
