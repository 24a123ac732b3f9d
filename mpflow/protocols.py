"""What the ends of a live run can be: protocols, what each of them needs, and video devices.

The one table of them: what is read, what is written and what is told of both agree by it.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

VIDEO_MAJOR = 81
"""The device number of Video4Linux (Linux, Documentation/admin-guide/devices.txt)."""

_DEVICE = re.compile(r"(?:v4l2:)?(/dev/video\d+|(?<=v4l2:).+)")


@dataclass(frozen=True, slots=True)
class Protocol:
    """One protocol: the ``container`` that is written by it, the ``port`` where nobody names one
    (None: it has to be named), whether its servers show a certificate (``secure``), whether a
    sender can be waited for (``listens``), and whether its end can be told from a loss
    (``tells_end``): a transport stream ends as it breaks off, and FFmpeg says the same of RTSP."""

    container: str
    port: int | None
    secure: bool = False
    listens: bool = False
    tells_end: bool = False


PROTOCOLS = {
    "rtsp": Protocol("rtsp", 554, listens=True),
    "rtsps": Protocol("rtsp", 322, secure=True),
    "rtmp": Protocol("flv", 1935, listens=True, tells_end=True),
    "rtmps": Protocol("flv", 443, secure=True, tells_end=True),
    "udp": Protocol("mpegts", None),
    "tcp": Protocol("mpegts", None, listens=True),
    "tls": Protocol("mpegts", None, secure=True),
    "http": Protocol("mpegts", 80, listens=True, tells_end=True),
    "https": Protocol("mpegts", 443, secure=True, tells_end=True),
}

SECURE = frozenset(name for name, protocol in PROTOCOLS.items() if protocol.secure)
"""Protocols whose servers show a certificate."""

WITH_PORT = frozenset(name for name, protocol in PROTOCOLS.items() if protocol.port is None)
"""Protocols without a port of their own."""

LISTENING = frozenset(name for name, protocol in PROTOCOLS.items() if protocol.listens)
"""Protocols whose senders can be waited for."""

_NO_SRT = "the FFmpeg that comes with PyAV has no SRT: "
SRT_READ = (
    f"{_NO_SRT}put a program between that speaks it, for example srt-live-transmit"
    " 'srt://:9000' udp://127.0.0.1:5000, and read -i udp://127.0.0.1:5000"
)
"""What to do instead of reading ``srt://``."""

SRT_WRITTEN = (
    f"{_NO_SRT}write -o udp://127.0.0.1:5000, and put a program behind that speaks it, for example"
    " srt-live-transmit udp://127.0.0.1:5000 srt://HOST:9000"
)
"""What to do instead of writing to ``srt://``."""


def device_of(text: str) -> str | None:
    """The path of a video device, if the text means one: by its name, or by what is there."""
    if found := _DEVICE.fullmatch(text):
        return found[1]
    try:
        status = Path(text).stat()
    except (OSError, ValueError):
        return None
    is_video = stat.S_ISCHR(status.st_mode) and os.major(status.st_rdev) == VIDEO_MAJOR
    return text if is_video else None
