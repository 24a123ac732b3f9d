"""The command line, in this process for what starts none, and as itself for the rest."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from clips import Clip, make
from commands import LIMIT_S, Command, Ran, command_line
from steered import SteeredRun, going_on

from mpflow import rundir
from mpflow.cli import cli


@pytest.fixture(autouse=True)
def no_ambient_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tester has set does not count."""
    for name in ("MPFLOW_PRESET", "MPFLOW_CONFIG", "MPFLOW_LOG_FILE", "MPFLOW_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def invoke() -> Callable[..., Result]:
    """Call a command in this process."""
    return lambda *words: CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def mpflow(here: Path) -> Command:
    """Run a command as a process of its own."""

    def run(*words: str | Path) -> Ran:
        done = subprocess.run(
            command_line(*words),
            cwd=here,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def short_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty frames without a face."""
    return make(tmp_path_factory.mktemp("clips") / "short.mp4")


@pytest.fixture(scope="session")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough frames that a signal comes in the middle."""
    clip = Clip(pts=range(1500), size=(320, 240), options={"preset": "ultrafast"})
    return make(tmp_path_factory.mktemp("clips") / "long.mp4", clip)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder without other runs of the tester's."""
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setattr(rundir, "_places", lambda: [folder / "mpflow"])
    return folder


@pytest.fixture
def door() -> Iterator[SteeredRun]:
    """A run called door."""
    with going_on(SteeredRun(), "5c1f09ab", "door") as run:
        yield run
