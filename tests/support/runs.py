"""Running small pipelines of foreign stages, and looking for what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import yaml

from mpflow.config import resolve
from mpflow.session import JobResult, Session
from mpflow.spec import JobSpec, PipelineSpec, parts_name

SHM = Path("/dev/shm")
GONE_S = 20


def pipeline_of(folder: Path, *stages: dict[str, Any] | str, **top: Any) -> PipelineSpec:
    """Resolve a preset made of these stages; a bare name is a class of foreign_stages."""
    entries = [stage if isinstance(stage, dict) else foreign(stage) for stage in stages]
    path = folder / "preset.yaml"
    path.write_text(yaml.safe_dump({"stages": entries, **top}))
    return resolve(str(path), environ={}).spec


def foreign(name: str, workers: int = 1, **options: Any) -> dict[str, Any]:
    """One stage of tests/support/foreign_stages.py."""
    return {"stage": f"foreign_stages:{name}", "workers": workers, "options": options}


def trap(name: str, workers: int | str = 1, **options: Any) -> dict[str, Any]:
    """One stage of tests/support/trap_stages.py."""
    entry = {"stage": f"trap_stages:{name}", "workers": workers, "options": options}
    return {**entry, "limit": options.pop("limit")} if "limit" in options else entry


def marks_in(folder: Path) -> str:
    """A folder for traps that snap once."""
    marks = folder / "marks"
    marks.mkdir(exist_ok=True)
    return str(marks)


def job_in(folder: Path, name: str = "out.jsonl", source: str = "numbers") -> JobSpec:
    """A job whose output lies in ``folder``."""
    output = folder / name
    partial = output.with_name(f"{output.stem}.partial{output.suffix}")
    return JobSpec(f"job-{name}", source, str(output), str(partial), parts=str(parts_name(output)))


def run_once(spec: PipelineSpec, job: JobSpec) -> JobResult:
    """Run one job in a session of its own."""
    with Session() as session:
        session.open(spec)
        return session.run(job)


def lines_of(job: JobSpec) -> list[dict[str, Any]]:
    """What Tally wrote."""
    return [json.loads(line) for line in Path(job.output).read_text().splitlines()]


def family(pid: int) -> list[psutil.Process]:
    """A process and all below it."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def worker_pids(pid: int, name: str) -> list[int]:
    """The processes below ``pid`` whose name is that of a worker of this stage."""
    found = []
    for process in family(pid):
        try:
            if process.name().startswith(f"mpf:{name}"):
                found.append(process.pid)
        except psutil.NoSuchProcess:
            continue
    return found


def kill_all(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process and everyone below it."""
    for process in family(pid):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def run_through_gates(
    spec: PipelineSpec, job: JobSpec, folder: Path, strikes: Mapping[Any, Callable[[int], object]]
) -> JobResult:
    """Run a job in which a stage has a gate at each of these frames or stores; strike there.

    A strike is given the supervisor's process id. The worker at the gate waits meanwhile.
    """
    with Session() as session:
        session.open(spec)
        return pass_gates(session, job, folder, strikes)


def pass_gates(
    session: Session, job: JobSpec, folder: Path, strikes: Mapping[Any, Callable[[int], object]]
) -> JobResult:
    """The same in a session that is there already."""
    gates = {folder / f"gate-{where}": strike for where, strike in strikes.items()}
    for gate in gates:
        os.mkfifo(gate)

    def attend() -> None:
        for gate, strike in gates.items():
            with gate.open("wb"):
                strike(session.pid)

    attendant = threading.Thread(target=attend, daemon=True)
    attendant.start()
    result = session.run(job)
    attendant.join(GONE_S)
    assert not attendant.is_alive(), "the run was over before the last gate"
    return result


class Ear:
    """Listens to a session, and lets a test wait for a line of its log, or for frames."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._frames = 0
        self._news = threading.Condition()

    def __call__(self, message: dict[str, Any]) -> None:
        with self._news:
            if message["kind"] == "log":
                self._lines.append(message["record"]["text"])
            elif message["kind"] == "progress":
                self._frames = message["frame"]
            self._news.notify_all()

    def wait_for_frames(self, count: int) -> None:
        """Wait until the sink has taken so many frames."""
        with self._news:
            came = self._news.wait_for(lambda: self._frames >= count, GONE_S)
            assert came, f"{self._frames} frames of {count} came"

    def wait_for(self, words: str) -> None:
        """Wait for the next line with these words; what was said before it is forgotten."""
        with self._news:
            assert self._news.wait_for(lambda: self._heard(words), GONE_S), f"nobody said {words!r}"

    def _heard(self, words: str) -> bool:
        while self._lines:
            if words in self._lines.pop(0):
                return True
        return False


def kill_workers(pid: int, name: str = "", number: int = signal.SIGKILL) -> None:
    """Send a signal to the workers of one stage, or to all workers, below a supervisor."""
    for worker in worker_pids(pid, name):
        os.kill(worker, number)


def fork_servers(pid: int) -> list[int]:
    """The fork server below a supervisor."""
    return [
        process.pid
        for process in family(pid)
        if "forkserver" in " ".join(process.cmdline()) and not process.name().startswith("mpf:")
    ]


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _is_dead(segment: Path) -> bool:
    """Whether this segment is still there though nobody is making it, as other tests may."""
    for held in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if held.readlink() == segment:
                return False
    return segment.exists()


@contextmanager
def nothing_left(folder: Path, *, but: Sequence[str] = ()) -> Iterator[None]:
    """Check that no process, no shared memory, and no file in ``folder`` but these is left."""
    segments = _names(SHM)
    files = _names(folder)
    before = {process.pid for process in family(os.getpid())}
    seen: dict[int, psutil.Process] = {}
    yield
    seen = {p.pid: p for p in family(os.getpid()) if p.pid not in before}
    _, alive = psutil.wait_procs(list(seen.values()), timeout=GONE_S)
    assert not alive, f"still there: {alive}"
    ours = {name for name in _names(SHM) - segments if name.startswith("mpflow-")}
    assert not any(_is_dead(SHM / name) for name in ours), ours
    left = _names(folder) - files - set(but)
    assert not left, f"left behind: {left}"
