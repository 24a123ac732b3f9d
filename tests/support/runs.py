"""Running small pipelines of foreign stages, and looking for what they leave behind."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import yaml

from mpflow.config import resolve
from mpflow.session import JobResult, Session
from mpflow.spec import JobSpec, PipelineSpec

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


def job_in(folder: Path, name: str = "out.jsonl", source: str = "numbers") -> JobSpec:
    """A job whose output lies in ``folder``."""
    output = folder / name
    partial = output.with_name(f"{output.stem}.partial{output.suffix}")
    return JobSpec(f"job-{name}", source, str(output), str(partial))


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


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


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
    assert not ours
    assert _names(folder) - files <= set(but)
