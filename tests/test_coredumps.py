"""A process that really crashes leaves no core dump, unless it was asked for one."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mpflow.coredumps import SIZE, forbid_core_dumps

CRASH = """
import os, resource, sys
soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
os.chdir(sys.argv[1])
if "forbid" in sys.argv:
    from mpflow.coredumps import forbid_core_dumps
    forbid_core_dumps()
if "child" in sys.argv:
    os.execv(sys.executable, [sys.executable, "-c", "import os; os.kill(os.getpid(), 11)"])
os.kill(os.getpid(), 11)
"""


def crash(folder: Path, *words: str) -> tuple[bool, Sequence[Path]]:
    """Let a process crash; whether the kernel says that it dumped core, and the files it left."""
    arguments = [sys.executable, "-c", CRASH, str(folder), *words]
    pid = os.posix_spawn(sys.executable, arguments, os.environ)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGSEGV
    return os.WCOREDUMP(status), list(folder.iterdir())


@pytest.fixture
def dumping(tmp_path: Path) -> Path:
    """A folder to crash in, on a machine where crashes do leave core dumps."""
    folder = tmp_path / "allowed"
    folder.mkdir()
    dumped, files = crash(folder)
    for file in files:
        file.unlink()
    if not dumped:
        pytest.skip("no process dumps core here: the limit or the core pattern forbids it")
    empty = tmp_path / "forbidden"
    empty.mkdir()
    return empty


def test_a_crash_leaves_no_core_dump(dumping: Path) -> None:
    assert crash(dumping, "forbid") == (False, [])


def test_a_crash_of_what_it_starts_leaves_none_either(dumping: Path) -> None:
    assert crash(dumping, "forbid", "child") == (False, [])


@pytest.mark.parametrize(("hard", "limit"), [(resource.RLIM_INFINITY, SIZE), (0, 0)])
def test_the_limit_is_one_where_that_is_allowed(monkeypatch, hard: int, limit: int) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (hard, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: told.append(limits))
    monkeypatch.setattr("mpflow.coredumps._FILTER", Path(os.devnull))
    forbid_core_dumps()
    assert told == [(limit, limit)]


def test_a_kernel_without_a_filter_is_no_error(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr("mpflow.coredumps._FILTER", tmp_path)
    forbid_core_dumps()
