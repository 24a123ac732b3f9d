"""A /dev/shm of a few MiB for one command, in a mount namespace of its own."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

LIMIT_S = 90
SUPPORT = Path(__file__).parent

_MOUNT = 'mount -t tmpfs -o size="$1" small /dev/shm && shift && exec "$@"'


def in_shm_of(mebibytes: int, command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a command that sees a /dev/shm of this size; skips where that cannot be made."""
    if not _possible():
        pytest.skip("a small /dev/shm needs root and mount namespaces")
    return run(["unshare", "-m", "sh", "-c", _MOUNT, "sh", f"{mebibytes}m", *command])


def run(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a command that can import what stands beside this file."""
    path = os.pathsep.join(filter(None, [str(SUPPORT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=LIMIT_S,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path},
    )


def python(script: str, *words: str | Path) -> list[str | Path]:
    """A Python program as a command; its workers import it again, so it may be a module only."""
    return [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *words]


@functools.cache
def _possible() -> bool:
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", _MOUNT, "sh", "1m", "true"],
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        return False
    return done.returncode == 0
