"""Whether the marks of a video agree: what each of them claims, and where they cannot all be right.

A mark that is missing contradicts nothing, unless the sidecar of this very file says that it was
written: platforms drop metadata, and pictures are coded anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from mpflow.jobs.sidecar import FORMAT
from mpflow.media.declaration import keeps_tags
from mpflow.provenance.declared import Declared
from mpflow.provenance.gb45438 import IS_SYNTHETIC
from mpflow.provenance.iptc import is_synthetic, term_of
from mpflow.provenance.reading import Found
from mpflow.provenance.tags import source_type_of
from mpflow.spec import MADE, REDACTED, REDACTED_IN_PART, Making

SYNTHETIC = "synthetic"
_WORDS = {REDACTED: "redacted", REDACTED_IN_PART: "redacted in part", MADE: SYNTHETIC}


class File(msgspec.Struct, frozen=True):
    """A file as a sidecar tells of it."""

    size: int | None = None
    sha256: str | None = None


class Made(msgspec.Struct, frozen=True):
    """How faces were made, as a sidecar tells of it."""

    how: Making = ""
    digital_source_type: str = ""


class Operation(msgspec.Struct, frozen=True):
    """A stage, as a sidecar tells of it."""

    stage: str


class Model(msgspec.Struct, frozen=True):
    """A model, as a sidecar tells of it: without a name where it is somebody's own."""

    stage: str
    model: str | None = None
    sha256: str | None = None


class Sidecar(msgspec.Struct, frozen=True):
    """As much of a sidecar (mpflow.jobs.sidecar) as is held against the rest."""

    mpflow_sidecar: int
    what: str = ""
    mpflow: str = ""
    time: str = ""
    made: Made | None = None
    operations: tuple[Operation, ...] = ()
    models: tuple[Model, ...] = ()
    output: File = File()
    is_about_file: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found: in the file's metadata, beside it, and in its picture."""

    declared: Declared
    sidecar: Sidecar | None
    mark: Found | None

    @property
    def sayings(self) -> list[str]:
        """What the comment says, of what mpflow has comments say."""
        return [each for each in self.declared.comment.split("; ") if each in _WORDS]

    @property
    def is_declared(self) -> bool:
        """Whether the metadata say that something was made."""
        return (
            MADE in self.sayings
            or any(map(is_synthetic, self.declared.types))
            or any(label.label == IS_SYNTHETIC for label in self.declared.labels)
        )


def statements(evidence: Evidence) -> Iterator[str]:
    """What the marks say together, in a word each."""
    sidecar, said = evidence.sidecar, set(evidence.sayings)
    if sidecar is not None:
        said |= set(sidecar.what.split("; "))
        said |= {MADE} if sidecar.made else set()
    if evidence.is_declared or evidence.mark is not None:
        said.add(MADE)
    if REDACTED_IN_PART in said:
        said.discard(REDACTED)
    yield from (word for text, word in _WORDS.items() if text in said)


def contradictions(evidence: Evidence) -> Iterator[str]:
    """Sentences on what cannot all be right."""
    yield from _within(evidence)
    yield from _beside(evidence)
    mark, types = evidence.mark, evidence.declared.types
    if mark is not None and mark.kind in ("composite", "generated"):
        kind: Making = "composite" if mark.kind == "composite" else "generated"
        if types and source_type_of(kind) not in types:
            yield (
                f"the invisible mark says {term_of(source_type_of(kind))}, the metadata"
                f" {_terms(types)}"
            )


def remarks(evidence: Evidence) -> Iterator[str]:
    """Sentences on what is missing, or is to be known about what was found."""
    sidecar, mark = evidence.sidecar, evidence.mark
    if sidecar is not None and sidecar.mpflow_sidecar > FORMAT:
        yield "the sidecar was written by a newer mpflow: not all of it was understood"
    told = sidecar is not None and sidecar.made is not None
    if mark is not None and not evidence.is_declared:
        yield "of made faces only the picture tells: the metadata were lost, or taken away"
    lost = keeps_tags(evidence.declared.container) and not evidence.declared.types
    if MADE in evidence.sayings and lost:
        yield "there is a comment, but no digital source type: some of the metadata were lost"
    if mark is None and (told or MADE in evidence.sayings):
        yield (
            "no invisible mark was found: the picture is too small, or was changed too much, or"
            " another one"
        )
    if evidence.is_declared and MADE not in evidence.sayings and mark is None and not told:
        yield "something else than mpflow may have made it: nothing of mpflow's own was found"


def _within(evidence: Evidence) -> Iterator[str]:
    """Where the metadata contradict themselves, or the picture."""
    declared = evidence.declared
    if len(declared.types) > 1:
        yield f"the metadata give several digital source types: {_terms(declared.types)}"
    made = MADE in evidence.sayings or evidence.mark is not None
    for uri in declared.types if made else ():
        if not is_synthetic(uri):
            yield f"the digital source type is {term_of(uri) or uri!r}, but faces were made"
    if len(declared.labels) > 1:
        yield "the metadata hold several labels of GB 45438, and they differ"
    for label in declared.labels:
        if not label.is_valid:
            yield "the label of GB 45438 lacks a label from 1 to 3, a producer or an id"


def _beside(evidence: Evidence) -> Iterator[str]:
    """Where the sidecar contradicts the file."""
    sidecar = evidence.sidecar
    if sidecar is None:
        return
    if not sidecar.mpflow_sidecar:
        yield "the file beside it has a sidecar's name, but is none"
        return
    if not sidecar.is_about_file:
        yield "the sidecar is about another file: the hash is not that of this one"
        return
    sayings, told = set(evidence.sayings), set(sidecar.what.split("; "))
    if REDACTED_IN_PART in told and REDACTED in sayings and REDACTED_IN_PART not in sayings:
        yield "the comment says that all was redacted, the sidecar that it was in part"
    if sidecar.made is None:
        return
    types = evidence.declared.types
    if not evidence.is_declared and keeps_tags(evidence.declared.container):
        yield "by its sidecar faces were made, but its metadata do not say so"
    elif types and sidecar.made.digital_source_type not in types:
        yield (
            f"by its sidecar it is {term_of(sidecar.made.digital_source_type)}, by its metadata"
            f" {_terms(types)}"
        )


def _terms(uris: list[str]) -> str:
    return ", ".join(term_of(uri) or repr(uri) for uri in uris)
