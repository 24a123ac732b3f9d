"""Listeners for live outputs, each a process of its own: they take a stream and say what came.

python catchers.py URL OPTIONS ->  one line of JSON: streams, pictures and sounds as they came
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

QUICK = {"probesize": "50000", "analyzeduration": "300000"}
_LISTENING = "0A"  # as /proc/net/tcp writes TCP_LISTEN
_PATIENCE_S = 30
_LOUD = 0.05


@dataclass
class Catch:
    """What a listener got. Times are seconds: of presentation, and of arrival (monotonic)."""

    streams: dict[str, str]
    pictures: list[dict[str, Any]]
    sounds: list[dict[str, Any]]
    error: str = ""

    @property
    def times(self) -> list[float]:
        return [picture["time"] for picture in self.pictures]

    @property
    def flashes(self) -> list[float]:
        """When bright pictures are shown that follow dark ones."""
        pairs = pairwise(self.pictures)
        return [now["time"] for before, now in pairs if now["luma"] > 120 > before["luma"]]

    @property
    def bursts(self) -> list[float]:
        """When loud sound begins after silence."""
        pairs = pairwise(self.sounds)
        return [now["onset"] for before, now in pairs if now["loud"] and not before["loud"]]


class Catcher:
    """A listening process. Use it as a context manager; ``result`` waits for its end."""

    def __init__(self, url: str, wait_for: int | None = None, **options: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, url, json.dumps(options)],
            stdout=subprocess.PIPE,
            text=True,
        )
        if wait_for is not None:
            wait_until_bound(wait_for)

    def __enter__(self) -> Catcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def result(self) -> Catch:
        out, _ = self._process.communicate(timeout=_PATIENCE_S)
        return Catch(**json.loads(out))


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_bound(port: int) -> None:
    """Wait until somebody listens at a port of this machine, without connecting to it.

    The kernel has no way to be told of it: its table is looked at every 20 ms.
    """
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        if _is_bound("tcp", port, _LISTENING) or _is_bound("udp", port, None):
            return
        time.sleep(0.02)
    raise TimeoutError(f"nobody listens at {port}")


def _is_bound(protocol: str, port: int, state: str | None) -> bool:
    lines = Path(f"/proc/net/{protocol}").read_text(encoding="ascii").splitlines()[1:]
    for line in lines:
        local, _, found = line.split()[1:4]
        if int(local.rpartition(":")[2], 16) == port and state in (None, found):
            return True
    return False


def catch(url: str, options: dict[str, str]) -> Catch:
    """Take a stream to its end, in this process."""
    import av
    import numpy as np

    found = Catch({}, [], [])
    try:
        with av.open(url, options={**QUICK, **options}, timeout=(_PATIENCE_S, 5)) as container:
            found.streams = {s.type: s.codec_context.name for s in container.streams}
            for stream in container.streams:
                stream.codec_context.thread_count = 1  # several would keep pictures back
            for packet in container.demux():
                now = time.monotonic()
                for frame in packet.decode():
                    if frame.pts is None:
                        continue
                    at = {"time": float(frame.pts * frame.time_base), "came": now}
                    if isinstance(frame, av.VideoFrame):
                        luma = int(np.frombuffer(frame.planes[0], np.uint8)[0])
                        found.pictures.append({**at, "luma": luma, "key": bool(frame.key_frame)})
                    else:
                        wave = np.abs(frame.to_ndarray().astype(np.float64))
                        if frame.format.name.startswith("s"):
                            wave /= 1 << (8 * frame.format.bytes - 1)
                        loud = np.flatnonzero(wave.max(0) > _LOUD)
                        step = 1 if frame.format.is_planar else len(frame.layout.channels)
                        at["loud"] = bool(loud.size)
                        if loud.size:
                            at["onset"] = at["time"] + loud[0] / step / frame.sample_rate
                        found.sounds.append(at)
    except av.FFmpegError as error:
        found.error = repr(error)
    return found


if __name__ == "__main__":
    caught = catch(sys.argv[1], json.loads(sys.argv[2]))
    print(json.dumps(vars(caught)))
