"""The model store: gives the path of a model by name, having fetched, checked and prepared it.

    path(name):  in the cache, hash right? -> its path
                 else, under the entry's lock: sources in turn -> hash -> transform -> hash
                 -> fsync -> rename into the cache

A file carries its hash in its name and appears only by rename, so nobody sees half a file, two
versions of mpflow can share a cache, and what a killed process left (``.NAME.*``) is swept by
the next one that holds the entry's lock.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import platformdirs

from mpflow.errors import ModelError, ResourceError
from mpflow.models.fetch import Archives, fetch, needs_network, sha256_of
from mpflow.models.lock import locked, taken
from mpflow.models.manifest import Entry, Manifest
from mpflow.urls import hide_credentials

Progress = Callable[[str], None]

CACHE_VARIABLE = "MPFLOW_CACHE"
LOCK_LIMIT = 1800.0  # seconds; longer than any fetch may take


class Condition(StrEnum):
    """How an entry stands in the cache."""

    PRESENT = "present"
    MISSING = "missing"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Item:
    """One entry as the cache has it; ``size`` is in bytes, 0 when missing."""

    name: str
    entry: Entry
    path: Path
    condition: Condition
    size: int


class ModelStore:
    """Models and media by name, kept under ``cache_dir``.

    The directory is ``cache_dir``, else $MPFLOW_CACHE, else the user's cache directory. An
    ``offline`` store never touches the network: what is missing is a ModelError that says which
    command fetches it. ``manifest`` replaces the one that comes with mpflow.
    """

    def __init__(
        self,
        cache_dir: Path | str | None = None,
        offline: bool = False,
        manifest: Manifest | None = None,
    ) -> None:
        self.cache_dir = _cache_directory(cache_dir)
        self.offline = offline
        self.manifest = manifest or Manifest.shipped()

    def path(self, name: str, progress: Progress | None = None) -> Path:
        """The checked file of entry ``name``, fetched first if it is not in the cache.

        ``progress`` is told, in a few words, what takes time. Raises ModelError if there is no
        such entry, no source gives it, or a hash is wrong; ResourceError on a full disk.
        """
        return self.pull([name], progress)[name]

    def list(self) -> Sequence[Item]:
        """Every entry and whether it is in the cache (its hash is not looked at)."""
        return [self._item(name, checked=False) for name in self.manifest]

    def verify(self, names: Iterable[str] = ()) -> Sequence[Item]:
        """Check the hashes of ``names``, or of all entries; nothing is fetched or removed."""
        return [self._item(name, checked=True) for name in names or self.manifest]

    def pull(self, names: Iterable[str], progress: Progress | None = None) -> dict[str, Path]:
        """Fetch what of ``names`` is missing; the path of each."""
        told = progress or (lambda text: None)
        with Archives() as archives:
            return {name: self._checked(name, archives, told) for name in names}

    def sweep(self) -> Sequence[Path]:
        """Remove what killed fetches left, except where a fetch is under way; what it removed."""
        removed: list[Path] = []
        for leftover in sorted(self.cache_dir.glob(".*.making-*")):
            lock = self.cache_dir / f"{leftover.name.partition('.making-')[0]}.lock"
            with lock.open("ab") as file:
                if taken(file.fileno(), lock):
                    shutil.rmtree(leftover, ignore_errors=True)
                    removed.append(leftover)
        return removed

    def _checked(self, name: str, archives: Archives, progress: Progress) -> Path:
        entry = self.manifest.entry(name)
        place = self._place(name, entry)
        if _condition(place, entry) is not Condition.PRESENT:
            self._bring(name, entry, place, archives, progress)
        return place

    def _place(self, name: str, entry: Entry) -> Path:
        return self.cache_dir / f"{name}-{entry.final_sha256[:12]}{entry.suffix}"

    def _item(self, name: str, *, checked: bool) -> Item:
        entry = self.manifest.entry(name)
        place = self._place(name, entry)
        if checked:
            condition = _condition(place, entry)
        else:
            condition = Condition.PRESENT if place.is_file() else Condition.MISSING
        size = 0 if condition is Condition.MISSING else place.stat().st_size
        return Item(name, entry, place, condition, size)

    def _bring(
        self, name: str, entry: Entry, place: Path, archives: Archives, progress: Progress
    ) -> None:
        """Fetch and prepare the entry, unless another process does so first."""
        if self.offline and all(needs_network(source) for source in entry.sources):
            raise self._unreachable(name, _condition(place, entry))
        with _disk_errors(self.cache_dir):
            self.cache_dir.mkdir(parents=True, exist_ok=True)
            lock = self.cache_dir / f".{name}.lock"
            with locked(
                lock,
                limit=LOCK_LIMIT,
                waiting=lambda: progress(f"waiting for another process to fetch {name}"),
            ):
                if _condition(place, entry) is not Condition.PRESENT:
                    self._make(name, entry, place, archives, progress)

    def _make(
        self, name: str, entry: Entry, place: Path, archives: Archives, progress: Progress
    ) -> None:
        """Holding the lock: source, hash, transform, hash, rename."""
        prefix = f".{name}.making-"
        self._sweep(prefix)
        with tempfile.TemporaryDirectory(dir=self.cache_dir, prefix=prefix) as directory:
            made = Path(directory) / f"source{entry.suffix}"
            self._fetch_first(name, entry, made, archives, progress)
            for file, sha256 in entry.hashes(made).items():
                _expect(file, sha256, f"{name} as fetched")
            if entry.transform is not None:
                from mpflow.models.transform import transform

                progress(f"preparing {name} ({entry.transform})")
                result = made.with_name(f"result{entry.suffix}")
                transform(entry.transform, made, result)
                _expect(result, entry.final_sha256, f"{name} after {entry.transform}")
                made = result
            _keep(made, place)
        self._sweep(prefix)  # again: a killed process's pip may have outlived it for a moment
        progress(f"{name} is ready")

    def _sweep(self, prefix: str) -> None:
        """Remove what killed processes left; whoever holds the entry's lock knows they are dead."""
        for leftover in self.cache_dir.glob(f"{prefix}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _fetch_first(
        self, name: str, entry: Entry, target: Path, archives: Archives, progress: Progress
    ) -> None:
        """Fetch from the first source that answers; a wrong file is not passed over for another."""
        failures: list[ModelError] = []
        for source in entry.sources:
            if self.offline and needs_network(source):
                continue
            progress(f"fetching {name}: {hide_credentials(str(source))}")
            try:
                start = self.manifest.directory
                fetch(source, target, start=start, archives=archives, beside=entry.beside)
            except ModelError as error:
                failures.append(error)
            else:
                return
        if not failures:
            raise self._unreachable(name, Condition.MISSING)
        if len(failures) == 1:
            raise failures[0]
        raise ModelError(
            f"no source gives {name}: " + "; ".join(failure.what for failure in failures),
            cure="; ".join(dict.fromkeys(failure.cure for failure in failures if failure.cure)),
        )

    def _unreachable(self, name: str, condition: Condition) -> ModelError:
        return ModelError(
            f"{name} is {condition} in {self.cache_dir}, and offline it cannot be fetched",
            cure=f"where the network may be used, run: mpflow models pull {name}",
            facts={"model": name, "cache": str(self.cache_dir)},
        )


def _cache_directory(given: Path | str | None) -> Path:
    chosen = given or os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("mpflow")
    return Path(chosen).expanduser().absolute() / "models"


def _condition(place: Path, entry: Entry) -> Condition:
    """Look at the file itself; its name proves nothing."""
    try:
        right = sha256_of(place) == entry.final_sha256
    except (FileNotFoundError, NotADirectoryError):
        return Condition.MISSING
    except OSError as error:
        raise ModelError(f"cannot read {place}: {error.strerror}") from error
    return Condition.PRESENT if right else Condition.DAMAGED


def _expect(path: Path, expected: str, what: str) -> None:
    found = sha256_of(path)
    if found != expected:
        raise ModelError(
            f"{what} has the wrong hash: expected sha256 {expected}, found {found}; "
            "nothing was kept",
            cure="fetch again; if the hash stays wrong, do not trust the source",
            facts={"expected": expected, "found": found},
        )


def _keep(made: Path, place: Path) -> None:
    """Give a whole file its final name: on the disk first, so that a crash leaves no half."""
    with made.open("rb") as file:
        os.fsync(file.fileno())
    made.chmod(0o644)
    made.replace(place)


@contextmanager
def _disk_errors(directory: Path) -> Iterator[None]:
    """Name the cache and the cure when the disk refuses."""
    try:
        yield
    except OSError as error:
        raise ResourceError(
            f"cannot write to the model cache {directory}: {error.strerror or error}",
            cure=f"make room or rights there, or set {CACHE_VARIABLE} to another directory",
        ) from error
