"""Whose face each person gets: one source for everybody, or a source for each that a map names.

    ("a.jpg", "b.jpg")                       two photos of one source, for every face
    ("anna.jpg=a.jpg", "bea.jpg=b.jpg")      for the person of each reference photo another source

References are people of a gallery, in the order in which they are named first (``p0``, ``p1``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mpflow.errors import ConfigError
from mpflow.policies.identity import Mark, mark_of


@dataclass(frozen=True, slots=True)
class Casting:
    """The photos of the source for everybody, or by reference photo for whom it shows."""

    everybody: tuple[Path, ...] = ()
    by_reference: tuple[tuple[Path, tuple[Path, ...]], ...] = ()

    @property
    def references(self) -> tuple[Path, ...]:
        """The reference photos, the person ``p0`` first."""
        return tuple(reference for reference, _ in self.by_reference)

    @property
    def sources(self) -> tuple[tuple[Path, ...], ...]:
        """The photos of each source, each source once."""
        named = (self.everybody, *(photos for _, photos in self.by_reference))
        return tuple(dict.fromkeys(photos for photos in named if photos))

    def photos_for(self, mark: Mark) -> tuple[Path, ...]:
        """The photos of the source for a face with this mark; none where it is to stay."""
        if not self.by_reference:
            return self.everybody
        for person, (_, photos) in enumerate(self.by_reference):
            if mark == mark_of(person):
                return photos
        return ()


def casting(sources: Sequence[str], pairs: Sequence[str]) -> Casting:
    """Who is to look like whom; raises ConfigError for pairs that are none, for sources and a map
    at once, and for neither."""
    if sources and pairs:
        raise ConfigError(
            "a source for everybody and a map contradict each other",
            cure="give --source, or --map REFERENCE=SOURCE for each person",
        )
    if not (sources or pairs):
        raise ConfigError(
            "there is no source photo",
            cure="give --source PHOTO, or --map REFERENCE=SOURCE for each person",
        )
    mapped: dict[Path, list[Path]] = {}
    for text in pairs:
        reference, source = _pair(text)
        mapped.setdefault(reference, []).append(source)
    return Casting(
        tuple(dict.fromkeys(Path(each) for each in sources)),
        tuple((one, tuple(dict.fromkeys(others))) for one, others in mapped.items()),
    )


def absolute_pair(text: str) -> str:
    """A pair with paths that hold in every folder; raises ConfigError for one that is none."""
    reference, source = _pair(text)
    return f"{reference.absolute()}={source.absolute()}"


def _pair(text: str) -> tuple[Path, Path]:
    """REFERENCE=SOURCE; a name with an equals sign in it is found out by what files there are."""
    places = [at for at, letter in enumerate(text) if letter == "="]
    pairs = [(text[:at].strip(), text[at + 1 :].strip()) for at in places]
    whole = [pair for pair in pairs if all(pair)]
    if not whole:
        raise ConfigError(
            f"the map {text!r} is not REFERENCE=SOURCE",
            cure="write for example --map anna.jpg=actress.jpg: a photo of whom the video shows,"
            " and one of whom to show",
        )
    there = [pair for pair in whole if all(Path(each).exists() for each in pair)]
    reference, source = (there or whole)[0]
    return Path(reference), Path(source)
