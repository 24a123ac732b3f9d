"""A camera before a real head, and somebody who keeps what comes of it: each a child process.

python filming.py film PATH URL SECONDS      sends a film to and fro, by the clock
python filming.py keep URL PATH              listens, and keeps the stream as it comes
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import av
from senders import RATE, wait_for_listener

WIDTH, HEIGHT = 352, 288
_QUICK = {"probesize": "50000", "analyzeduration": "300000"}
_PATIENCE_S = 40


@contextmanager
def child(*words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """One of the two, seen off at the end."""
    command = [sys.executable, __file__, *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def film(path: str, url: str, seconds: float) -> None:
    """Send pictures to and fro, so that no cut is in them, once somebody listens."""
    with av.open(path) as container:
        pictures = [frame.reformat(WIDTH, HEIGHT, "yuv420p") for frame in container.decode(video=0)]
    order = [*pictures, *pictures[-2:0:-1]]
    wait_for_listener(url)
    with av.open(url, "w", format="mpegts") as out:
        options = {"preset": "ultrafast", "tune": "zerolatency", "crf": "12", "g": str(RATE)}
        stream = out.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        began = time.monotonic()
        for number in range(round(seconds * RATE)):
            picture = order[number % len(order)]
            picture.pts, picture.time_base = number, Fraction(1, RATE)
            out.mux(stream.encode(picture))
            time.sleep(max(0.0, began + (number + 1) / RATE - time.monotonic()))
        out.mux(stream.encode(None))


def keep(url: str, path: str) -> None:
    """Keep a stream with all that it says of itself."""
    listening = {**_QUICK, "listen": "1"}
    with av.open(url, options=listening, timeout=(_PATIENCE_S, 10)) as container:
        source = container.streams.video[0]
        with av.open(path, "w") as out:
            out.metadata.update(container.metadata)
            stream = out.add_stream_from_template(source)
            with suppress(av.FFmpegError):  # so does a stream end
                for packet in container.demux(source):
                    if packet.dts is not None:
                        packet.stream = stream
                        out.mux(packet)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "film":
        film(rest[0], rest[1], float(rest[2]))
    else:
        keep(*rest)
