"""Senders of live streams in child processes, and a free port for them.

    python senders.py URL CONTAINER SECONDS [OPTION=VALUE ...]

sends numbered pictures (the brightness counts up) and a tone, by the clock.
"""

from __future__ import annotations

import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np
from av import AudioFrame, VideoFrame
from av.container import OutputContainer
from av.video.stream import VideoStream

WIDTH, HEIGHT = 160, 120
RATE = 25
_SOUND_RATE = 48000


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A port that nobody has at the moment."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def sender(
    url: str, container: str, seconds: float, **wishes: object
) -> Iterator[subprocess.Popen[bytes]]:
    """A child process that sends; it tries until somebody is there to take it."""
    command = [sys.executable, __file__, url, container, str(seconds)]
    command += [f"{key}={value}" for key, value in wishes.items()]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as child:
        try:
            yield child
        finally:
            child.kill()
            child.wait()


def wait_for_port(port: int, seconds: float = 10.0) -> None:
    """Wait until a server takes connections."""
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)  # nothing else tells
        else:
            return


def wait_for_listener(url: str) -> None:
    """Wait until somebody listens at an address, if it is one where somebody can."""
    until = time.monotonic() + 20
    address = url.partition("://")[2].partition("/")[0].partition("?")[0]
    port = address.rpartition(":")[2]
    while (
        "://" in url
        and not url.startswith("udp")
        and time.monotonic() < until
        and not _listens(int(port))
    ):
        time.sleep(0.05)  # nothing else tells


def send(
    url: str,
    container: str,
    seconds: float,
    *,
    sound: bool = True,
    key_every: int = RATE,
    size: str = f"{WIDTH}x{HEIGHT}",
    pause_at: float = 0,
    pause: float = 0,
    bframes: int = 0,
    transport: str = "tcp",
    codec: str = "libx264",
    pid: int = 256,
    dark_at: float = math.inf,
    every: int = 1,
) -> None:
    """Send so many seconds by the clock; ``pause`` seconds of silence at ``pause_at``, and sound
    alone from ``dark_at`` on; of ``every`` so many pictures only one. ``pid`` is the number of a
    transport stream's first stream."""
    options = {"rtsp_transport": transport} if container == "rtsp" else {}
    if container == "mpegts":
        options = {"mpegts_start_pid": str(pid), "mpegts_pmt_start_pid": str(0x1000 + pid)}
    if every > 1 or dark_at < seconds:
        options["max_interleave_delta"] = "1000"  # sound is not to wait for pictures
    out = _connected(url, container, options)
    video = cast("VideoStream", out.add_stream(codec, rate=RATE))
    video.width, video.height = (int(side) for side in size.split("x"))
    video.pix_fmt = "yuv420p"
    video.options = {"preset": "ultrafast", "g": str(key_every), "bf": str(bframes)}
    if not bframes:
        video.options = {**video.options, "tune": "zerolatency"}
    tone = out.add_stream("aac", rate=_SOUND_RATE) if sound else None
    began, played = time.monotonic(), 0
    for number in range(int(seconds * RATE)):
        if pause and number == int(pause_at * RATE):
            time.sleep(pause)
            began += pause
        if number < dark_at * RATE and number % every == 0:
            out.mux(video.encode(numbered(number, video.width, video.height)))
        while tone is not None and played * RATE < (number + 1) * _SOUND_RATE:
            out.mux(tone.encode(_hum(played)))
            played += 1024
        left = began + (number + 1) / RATE - time.monotonic()
        time.sleep(max(0.0, left))  # a camera sends by the clock
    out.mux(video.encode(None))
    out.close()


def numbered(number: int, width: int, height: int) -> VideoFrame:
    """A grey picture whose brightness tells its number (of the last fifty)."""
    planes = np.full((height * 3 // 2, width), 128, np.uint8)
    planes[:height] = 20 + number % 50 * 4
    picture = VideoFrame.from_ndarray(planes, format="yuv420p")
    picture.pts, picture.time_base = number, Fraction(1, RATE)
    return picture


def _hum(played: int) -> AudioFrame:
    samples = np.sin(np.arange(played, played + 1024) / 20, dtype=np.float32)
    frame = AudioFrame.from_ndarray(np.stack([samples, samples]), format="fltp", layout="stereo")
    frame.sample_rate, frame.pts = _SOUND_RATE, played
    return frame


def _connected(url: str, container: str, options: dict[str, str]) -> OutputContainer:
    """The output, once somebody listens: FFmpeg connects when the header is written."""
    wait_for_listener(url)
    return av.open(url, "w", format=container, options=options)


def _listens(port: int) -> bool:
    """Whether a socket listens at a port; connecting would use up a listener that accepts once."""
    wanted = f":{port:04X}"
    rows = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(row.split()[1].endswith(wanted) and row.split()[3] == "0A" for row in rows)


if __name__ == "__main__":
    kinds: dict[str, type] = {"sound": int, "key_every": int, "bframes": int}
    kinds |= {"every": int, "pause_at": float, "pause": float, "pid": int, "dark_at": float}
    given = dict(word.split("=", 1) for word in sys.argv[4:])
    wishes = {key: kinds.get(key, str)(value) for key, value in given.items()}
    send(sys.argv[1], sys.argv[2], float(sys.argv[3]), **wishes)
