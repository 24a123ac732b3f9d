"""Run a command and watch it: wall time, first frame, CPU time and memory of all its processes.

CPU time comes from /proc, looked at ten times a second; what a process uses after the last look
is lost (less than a tenth of a second each). Memory is the proportional set size, which counts a
page that several processes share (the frame ring, libraries) once over all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

EVERY_S = 0.1
MIB = 1 << 20


@dataclass
class Watched:
    """What was seen of one command. Times in seconds since it was started."""

    wall: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    first_at: float | None = None
    first_frame: int = 0
    last_frame: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)

    def steady_rate(self, frames: int) -> float | None:
        """Frames a second after the first one was seen."""
        if self.first_at is None:
            return None
        return (frames - self.first_frame) / (self.wall - self.first_at)


Beside = Callable[[int, Watched, threading.Event], None]
"""Does something to a run: gets its pid, what is seen of it, and an event that says it is over."""


def watch(
    command: Sequence[str],
    *,
    memory: bool = False,
    beside: Beside | None = None,
    ends_with: int = 0,
) -> Watched:
    """Run a command to its end; raises RuntimeError with its last words if it fails.

    Its standard output is read for progress: the JSON lines of mpflow, or what ffmpeg writes for
    ``-progress``. ``beside`` runs at the same time, in a thread. The command, and all that it
    starts, is a process group of its own; ``ends_with`` is the exit code that is no failure.
    """
    seen = Watched()
    # a bench that was told to leave no byte code would compile every module at every start
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    started = time.monotonic()
    process = subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,  # a group in the background that reads a terminal is stopped
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        process_group=0,
    )
    over = threading.Event()
    words: list[str] = []
    helpers = [
        threading.Thread(target=_sample, args=(process.pid, started, seen, over, memory)),
        threading.Thread(target=lambda: words.append(process.stderr.read())),
    ]
    if beside is not None:
        helpers.append(threading.Thread(target=beside, args=(process.pid, seen, over)))
    for helper in helpers:
        helper.start()
    try:
        for line in process.stdout:
            _read_progress(line, seen, time.monotonic() - started)
        code = process.wait()
        seen.wall = time.monotonic() - started
    finally:
        process.kill()
        over.set()
        for helper in helpers:
            helper.join()
    if code != ends_with:
        raise RuntimeError(f"{command[0]} ended with {code}: {words[0][-2000:]}")
    return seen


def _read_progress(line: str, seen: Watched, now: float) -> None:
    """Note the first line that tells of a finished frame, and mpflow's report."""
    if line.startswith("{"):
        event = json.loads(line)
        frame = event.get("frame", 0) if event["event"] == "progress" else 0
        seen.report = event["report"] if event["event"] == "done" else seen.report
    elif line.startswith("frame="):
        frame = int(line.partition("=")[2])
    else:
        return
    seen.last_frame = max(frame, seen.last_frame)
    if frame and seen.first_at is None:
        seen.first_at, seen.first_frame = now, frame


def _sample(pid: int, started: float, seen: Watched, over: threading.Event, memory: bool) -> None:
    used: dict[int, tuple[str, float]] = {}
    while True:
        processes = family(pid)
        for process in processes:
            _note_cpu(process, used)
        if memory:
            total = sum(map(_proportional_set, processes))
            seen.memory.append((time.monotonic() - started, total / MIB))
        if over.wait(EVERY_S):
            break
    sums: Mapping[str, float] = defaultdict(float)
    for name, seconds in used.values():
        sums[name] += seconds
    seen.cpu = dict(sums)


def family(pid: int) -> list[psutil.Process]:
    """A process and all its descendants; nobody if it is gone."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _note_cpu(process: psutil.Process, used: dict[int, tuple[str, float]]) -> None:
    try:
        times = process.cpu_times()
        name = used[process.pid][0] if process.pid in used else ""
        if not name or not name.startswith(("mpf:", "ffmpeg")):
            name = _name_of(process)
    except (psutil.Error, OSError):
        return
    used[process.pid] = name, times.user + times.system


def _name_of(process: psutil.Process) -> str:
    """A worker's own name; of mpflow's other processes, their role; else the program's name."""
    name = Path(f"/proc/{process.pid}/comm").read_text().strip()
    if name.startswith("ffmpeg"):
        return "ffmpeg"
    words = " ".join(process.cmdline())
    roles = {
        "mpflow.supervisor": "supervisor",
        "multiprocessing.forkserver": "fork server",
        "multiprocessing.resource_tracker": "resource tracker",
        "mpflow.cli": "command line",
    }
    if name.startswith("mpf:"):
        return name
    return next((role for word, role in roles.items() if word in words), name)


def _proportional_set(process: psutil.Process) -> int:
    """Bytes of a process, shared pages divided by how many share them; 0 if it is gone."""
    try:
        return int(process.memory_full_info().pss)
    except (psutil.Error, OSError):
        return 0
