"""What the sidecar beside an output says of it, held against what there is.

A sidecar (mpflow.jobs.sidecar) is a claim, not evidence: whoever can change a video can change it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mpflow.accounts import counted
from mpflow.audit.wish import SECOND, Wish
from mpflow.jobs.sidecar import sidecar_name
from mpflow.models.fetch import sha256_of

_MOST_CHANGES = 5


class _Hashed(msgspec.Struct, frozen=True):
    sha256: str | None = None


class _Range(msgspec.Struct, frozen=True):
    start: int = 0
    stop: int | None = None
    passed: int | None = None


class _Change(msgspec.Struct, frozen=True):
    stage: str | None = None
    option: str = ""
    value: Any = None
    left_out: bool = False
    frames: int = 0


class _Operation(msgspec.Struct, frozen=True):
    stage: str
    options: dict[str, Any] = {}
    left_out: tuple[str, ...] = ()


class Claims(msgspec.Struct, frozen=True):
    """As much of a sidecar as an audit can use."""

    mpflow_sidecar: int
    operations: tuple[_Operation, ...] = ()
    input: _Hashed = _Hashed()
    output: _Hashed = _Hashed()
    frames: _Range = _Range()
    changed: tuple[_Change, ...] | None = None

    def chosen(self, stage: str, option: str) -> Any:
        """What an option of a stage was set to, as far as it is told; None for no such thing."""
        values = (each.options.get(option) for each in self.operations if each.stage == stage)
        return next(values, None)

    def range_of(self, source: Path, target: Path) -> tuple[int, int | None]:
        """The frames of the input that the output is said to be made of: all, unless a sidecar of
        these very files says otherwise. Raises OSError."""
        frames = max(0, self.frames.start), self.frames.stop
        if frames == (0, None) or self.output.sha256 != sha256_of(target):
            return 0, None
        return frames if self.input.sha256 in (None, sha256_of(source)) else (0, None)


def _words(change: _Change) -> str:
    what = "some" if change.stage is None else change.stage
    if change.left_out:
        what = f"without {what}"
    elif change.option:
        what += f".{change.option}" + ("" if change.value is None else f"={change.value}")
    return f"{what} in {counted(change.frames, 'frame')}"


def claims_of(output: Path) -> Claims | None:
    """The sidecar of an output, if there is one that can be read."""
    if not output.is_file():
        return None
    try:
        return msgspec.json.decode(sidecar_name(output).read_bytes(), type=Claims)
    except (OSError, msgspec.MsgspecError):
        return None


def contradictions(claims: Claims | None, source: str, target: str) -> Iterator[str]:
    """Sentences on what does not fit, for the hashes of both files."""
    if claims is None:
        return
    if claims.output.sha256 not in (None, target):
        yield "the sidecar beside the output is about another file: their hashes differ"
    elif claims.input.sha256 not in (None, source):
        yield "by its sidecar the output was made from another input: their hashes differ"


def advice(claims: Claims | None, wish: Wish) -> Iterator[str]:
    """Sentences on how the output was made, where that bears on the audit."""
    if claims is None:
        return
    by = "by its sidecar the output"
    if claims.chosen("detect", "model") == SECOND:
        yield (
            f"{by} was made with {SECOND}, the detector that looks at it here: what it missed, it"
            " may miss again"
        )
    if (spans := claims.chosen("redact", "spans")) and not wish.spans.spans:
        yield f"{by} was to be covered only in {spans}: --spans {spans} allows for that"
    if claims.chosen("redact", "method") == "image" and not wish.replaced:
        yield f"{by} has a picture over every face: if that is a face, --replaced allows for it"
    people = claims.chosen("redact", "people")
    flag = {"except": "--keep DIR", "only": "--only DIR"}.get(str(people))
    if flag is not None and wish.people == "all":
        yield f"{by} leaves some people open: {flag} allows for that, with the same gallery"
    if claims.changed:
        told = ", ".join(map(_words, claims.changed[:_MOST_CHANGES]))
        more = ", and more" if len(claims.changed) > _MOST_CHANGES else ""
        yield f"{by} was made with other options for a while: {told}{more}"
    if claims.frames.passed:
        passed = counted(claims.frames.passed, "frame")
        yield f"{by} has {passed} on which a stage failed, and which went out as they were"
    if (claims.frames.start, claims.frames.stop) == (wish.start, wish.stop) != (0, None):
        yield f"{by} was made of a part of the input, which is what it was compared with"
