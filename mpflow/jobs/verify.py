"""What a video says of itself and what is said of it, read back and held against each other.

    comment, tags, XMP ---+
    OUT.mpflow.json -------+-> found -> do they agree? -> Verification
    the invisible mark ---+

Metadata and sidecar are claims that anybody can write or take away; the mark is in the picture.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from mpflow.errors import EXIT_CONTRADICTION, EXIT_OK, EXIT_UNMARKED, InputError
from mpflow.jobs.agreement import Evidence, Sidecar, contradictions, remarks, statements
from mpflow.jobs.sidecar import sidecar_name
from mpflow.models.fetch import sha256_of
from mpflow.provenance.declared import Declared, read_declared
from mpflow.provenance.reading import Found, read_mark

FORMAT = 1
"""Changes when a reader of ``as_data`` would have to."""

Reader = Callable[[Path], Found | None]


class Verdict(StrEnum):
    """What comes of it: marks that agree, no mark at all, or marks that do not agree."""

    MARKED = "marked"
    UNMARKED = "unmarked"
    CONTRADICTION = "contradiction"


_EXITS = {
    Verdict.MARKED: EXIT_OK,
    Verdict.UNMARKED: EXIT_UNMARKED,
    Verdict.CONTRADICTION: EXIT_CONTRADICTION,
}


class Verification(msgspec.Struct, frozen=True):
    """All that was found in and beside a video. ``says`` is what it comes to, in a word each;
    ``sidecar`` is None where there is none, and so is ``mark``."""

    path: str
    declared: Declared
    sidecar: Sidecar | None
    mark: Found | None
    says: tuple[str, ...]
    contradictions: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether it is marked, and whether its marks agree."""
        if self.contradictions:
            return Verdict.CONTRADICTION
        return Verdict.MARKED if self.says else Verdict.UNMARKED

    @property
    def exit_status(self) -> int:
        """0 for marks that agree; see mpflow.errors."""
        return _EXITS[self.verdict]

    def as_data(self) -> dict[str, Any]:
        """Everything as plain values, for programs."""
        data = msgspec.to_builtins(self)
        return {"format": FORMAT, **data, "verdict": str(self.verdict)}


def verify(path: Path, read: Reader = read_mark) -> Verification:
    """Read a video's marks; ``read`` looks for the invisible one.

    Raises InputError for what is no video or cannot be read.
    """
    evidence = Evidence(read_declared(path), _sidecar_of(path), read(path))
    return Verification(
        str(path),
        evidence.declared,
        evidence.sidecar,
        evidence.mark,
        tuple(statements(evidence)),
        tuple(contradictions(evidence)),
        tuple(remarks(evidence)),
    )


def _sidecar_of(path: Path) -> Sidecar | None:
    """The sidecar beside a video, and whether it is about that very file."""
    beside = sidecar_name(path)
    if not beside.is_file():
        return None
    try:
        told = msgspec.json.decode(beside.read_bytes(), type=Sidecar)
        is_about = told.output.sha256 == sha256_of(path)
    except msgspec.MsgspecError:
        return Sidecar(0)
    except OSError as error:
        raise InputError(f"{str(beside)!r} cannot be read: {error.strerror}") from error
    return msgspec.structs.replace(told, is_about_file=is_about)
