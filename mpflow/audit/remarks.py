"""Sentences on how well the two files go together; whoever reads the report is to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mpflow.audit.claims import Claims, advice, contradictions
from mpflow.audit.report import FileFacts, Timing
from mpflow.audit.wish import Wish
from mpflow.audit.words import counted


@dataclass(frozen=True, slots=True)
class Seen:
    """What an audit has come to know beside the faces."""

    source: FileFacts
    target: FileFacts
    timing: Timing
    tracks: int
    wish: Wish
    claims: Claims | None = None


def remarks(seen: Seen) -> tuple[str, ...]:
    """Every oddity, as a sentence each."""
    return (
        *_on_files(seen.source, seen.target),
        *contradictions(seen.claims, seen.source.sha256, seen.target.sha256),
        *advice(seen.claims, seen.wish),
        *_on_timing(seen.timing),
        *_on_faces(seen),
    )


def _on_files(source: FileFacts, target: FileFacts) -> Iterator[str]:
    if source.sha256 == target.sha256:
        yield "input and output are the same file, byte for byte"
    if (source.width, source.height) != (target.width, target.height):
        yield (
            f"the output's picture is {target.width}x{target.height}, the input's"
            f" {source.width}x{source.height}: places were compared as shares of the picture"
        )
    for name, file in (("input", source), ("output", target)):
        if file.damaged:
            yield (
                f"{counted(file.damaged, 'packet')} or frames of the {name} could not be decoded"
                " whole, and what they hold was not looked at"
            )
    if target.beside:
        yield (
            f"the output has {counted(target.beside, 'picture stream')} more (another view, or"
            " cover art) which nobody looked at: take them out, and audit what is left"
        )


def _on_timing(timing: Timing) -> Iterator[str]:
    if timing.shift:
        later = "later" if timing.shift > 0 else "earlier"
        yield (
            f"the output's time begins {abs(timing.shift):.3f} s {later} than the input's;"
            " it was counted from its first frame"
        )
    if timing.lacking:
        yield f"{counted(timing.lacking, 'frame')} of the input: the output has none at their time"
    if timing.extra:
        yield (
            f"{counted(timing.extra, 'frame')} of the output: the input has none at their time,"
            " so every face in them counts as unexplained"
        )


def _on_faces(seen: Seen) -> Iterator[str]:
    if not seen.tracks:
        yield "no face was found in the input"
