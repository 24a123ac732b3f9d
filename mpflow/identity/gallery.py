"""A gallery: the people of a folder of reference photos, as embeddings in memory.

A folder that cannot be relied on is refused whole, each photo by its name: who was meant to be kept
would be covered, and who was meant to be covered would be seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from mpflow.errors import ConfigError
from mpflow.identity.photos import (
    SUFFIXES,
    Reference,
    UnusablePhoto,
    contents,
    people_in,
    reference,
)
from mpflow.models.align import crop
from mpflow.models.detections import Detector, Floats
from mpflow.models.detectors import detector
from mpflow.models.embedders import Embedder
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore

_MOST_NAMED = 5
_CHECK_BYTES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Gallery:
    """Embeddings [n, k] of all photos, and to which person each belongs, from 0 on.

    ``check`` tells galleries apart, by too few bits to tell which photos one is made of.
    """

    embeddings: Floats
    persons: tuple[int, ...]
    check: int

    @property
    def people(self) -> int:
        """How many persons there are."""
        return max(self.persons, default=-1) + 1

    def similarities(self, embeddings: Floats) -> list[list[float]]:
        """For each embedding [n, k] the cosine with each person: that of the nearest photo."""
        cosines = embeddings @ self.embeddings.T
        columns = [np.flatnonzero(np.equal(self.persons, each)) for each in range(self.people)]
        return [[float(row[mine].max()) for mine in columns] for row in cosines]


class Choice(Protocol):
    """What the options of a stage that knows people say; see mpflow.stages.embed."""

    @property
    def gallery(self) -> str:
        """A folder, or nothing."""

    @property
    def photos(self) -> tuple[str, ...]:
        """Photos of a person each, in place of a folder."""


def open_gallery(choice: Choice, embedder: Embedder, store: ModelStore, threads: int) -> Gallery:
    """The gallery of a choice, by a detector that is let go of when it is read.

    Raises ConfigError that names every photo which cannot be used.
    """
    name = store.manifest.default("detector")
    session, _ = open_session(store.path(name), device="cpu", threads=threads)
    finds = detector(name, session)
    if choice.photos:
        return read_photos([Path(each) for each in choice.photos], finds, embedder)
    return read_gallery(Path(choice.gallery), finds, embedder)


def read_gallery(folder: Path, detector: Detector, embedder: Embedder) -> Gallery:
    """The people of a folder; raises ConfigError that names every photo which cannot be used."""
    album = _Album(f"the gallery {str(folder)!r}", _people(folder), folder)
    return _read(album, detector, embedder)


def read_photos(photos: Sequence[Path], detector: Detector, embedder: Embedder) -> Gallery:
    """People by one photo of each, in this order; raises ConfigError as ``read_gallery`` does."""
    album = _Album("what is to tell people apart", [[photo] for photo in photos])
    return _read(album, detector, embedder)


@dataclass(frozen=True, slots=True)
class _Album:
    """The photos of each person, what they are called together, and the folder they lie in."""

    title: str
    people: Sequence[Sequence[Path]]
    folder: Path | None = None

    def named(self, photo: Path) -> str:
        """A photo as a message names it."""
        return repr(str(photo if self.folder is None else photo.relative_to(self.folder)))


def _read(album: _Album, detector: Detector, embedder: Embedder) -> Gallery:
    digest, found, faults = hashlib.sha256(), [], []
    for person, photos in enumerate(album.people):
        for photo in photos:
            try:
                data = contents(photo)
                found.append((person, reference(data, detector)))
            except OSError as error:
                faults.append(f"{album.named(photo)} cannot be read: {error.strerror}")
            except UnusablePhoto as error:
                faults.append(f"{album.named(photo)} {error}")
            else:
                digest.update(hashlib.sha256(data).digest() + person.to_bytes(4, "big"))
    if faults:
        raise _refused(album, faults)
    check = int.from_bytes(digest.digest()[:_CHECK_BYTES], "big")
    embeddings = _embeddings([face for _, face in found], embedder)
    _require_one_each(album, embeddings, embedder.other)
    return Gallery(embeddings, tuple(person for person, _ in found), check)


def stranger(embeddings: Floats, other: float) -> int | None:
    """Which photo of one person is surely of another, by their embeddings [n, k]; None for no one.

    Two photos of one person may be unlike, where others between them are like both.
    """
    known, alike = {0}, embeddings @ embeddings.T >= other
    while (more := set(np.flatnonzero(alike[list(known)].any(axis=0)).tolist())) > known:
        known = more
    return next((each for each in range(len(embeddings)) if each not in known), None)


def _people(folder: Path) -> list[list[Path]]:
    cure = "name a folder with one photo of each person, or a sub-folder of photos for each"
    try:
        people = people_in(folder)
        bare = [person for person, photos in people.items() if not photos]
    except OSError as error:
        raise ConfigError(
            f"the gallery {str(folder)!r} cannot be read: {error.strerror}", cure=cure
        ) from error
    if not people:
        raise ConfigError(f"the gallery {str(folder)!r} has no photos", cure=cure)
    if bare:
        names = ", ".join(repr(person) for person in bare[:_MOST_NAMED])
        raise ConfigError(
            f"in the gallery {str(folder)!r} the sub-folder {names} is empty"
            if len(bare) == 1
            else f"in the gallery {str(folder)!r} sub-folders are empty: {names}",
            cure="remove it, or put photos of one person there (`mpflow clean --identities` takes"
            " the pictures out of a folder of exported faces)",
        )
    return list(people.values())


def _embeddings(faces: Sequence[Reference], embedder: Embedder) -> Floats:
    """One photo after the other: crops of a large gallery at once would be a large batch."""
    crops = (crop(face.picture, face.points, embedder.size) for face in faces)
    return np.concatenate([embedder.embed([each]) for each in crops])


def _require_one_each(album: _Album, embeddings: Floats, other: float) -> None:
    """Raise ConfigError where the photos of one person show several: all would be one mark."""
    first, faults = 0, []
    for photos in album.people:
        mine = embeddings[first : first + len(photos)]
        first += len(photos)
        if (odd := stranger(mine, other)) is not None:
            names = album.named(photos[0]), album.named(photos[odd])
            faults.append(f"{names[0]} and {names[1]} show different people")
    if faults:
        raise ConfigError(
            f"{album.title} cannot be used: {'; '.join(faults[:_MOST_NAMED])}",
            cure="give each person a sub-folder; for one person whose photos are that different,"
            " two sub-folders do as well",
        )


def _refused(album: _Album, faults: Sequence[str]) -> ConfigError:
    more = len(faults) - _MOST_NAMED
    told = [*faults[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return ConfigError(
        f"{album.title} cannot be used: {'; '.join(told)}",
        cure=f"each photo ({', '.join(SUFFIXES)}) has to show one face, from the front and not too"
        " small; crop the others away, or take the file out",
    )
