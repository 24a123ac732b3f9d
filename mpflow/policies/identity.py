"""Who of a gallery a face shows, and whom a redaction covers for it. Whoever is unsure is covered.

    similarities to each person -> decide -> "p0" | "p1" ... | "other" | None -> covered

A mark says no name: "p0" is the first person of the gallery, "other" is surely none of them, and
None is everybody nobody is sure of: not looked at yet, seen too badly, or between the thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mpflow.tokens import Face

Mark = str | None
People = Literal["all", "except", "only", "unswapped"]
"""Whom a redaction covers: all, all except those of the gallery, only those of the gallery, or all
for whom no face was made."""

KNOWN_BY: Mapping[People, tuple[str, ...]] = {
    "except": ("identities",),
    "only": ("identities",),
    "unswapped": ("blended",),
}
"""What has to be known of faces for that."""

OTHER = "other"
_PERSON = "p"
_LAID, _OWN = "laid", "unswapped"
"""What mpflow.swapping.contract calls a made face, and one that is the face's own all the same."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosines: the person from ``same`` on, not below ``other``; between them nobody knows."""

    same: float
    other: float


def mark_of(person: int) -> str:
    """The mark of a person of the gallery, counted from 0 in the order of their names."""
    return f"{_PERSON}{person}"


def is_person(mark: Mark) -> bool:
    """Whether it is the mark of a person of the gallery."""
    return mark is not None and mark != OTHER


def decide(similarities: Sequence[float], thresholds: Thresholds) -> Mark:
    """The mark of a face by its similarity to each person; of two equals the first.

    Without anybody in the gallery, and for values that are no numbers, nobody is sure.
    """
    best = max(range(len(similarities)), key=similarities.__getitem__, default=None)
    if best is None:
        return None
    if similarities[best] >= thresholds.same:
        return mark_of(best)
    return OTHER if all(each < thresholds.other for each in similarities) else None


def covered(face: Face, people: People) -> bool:
    """Whether a redaction of ``people`` covers a face."""
    match people:
        case "except":
            return not is_person(face.identity)
        case "only":
            return face.identity != OTHER
        case "unswapped":
            return _LAID not in face.refs or _OWN in face.refs
        case "all":
            return True
