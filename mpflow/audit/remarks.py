"""Sentences on how well the two files go together; whoever reads the report is to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mpflow.accounts import counted
from mpflow.audit.claims import Claims, advice, contradictions
from mpflow.audit.order import Order
from mpflow.audit.report import FileFacts, Timing
from mpflow.audit.wish import CLOSE, Wish
from mpflow.errors import ConfigError
from mpflow.models.sizes import auto_size, parse_size


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
        *mistakes(seen),
        *_on_files(seen.source, seen.target),
        *contradictions(seen.claims, seen.source.sha256, seen.target.sha256),
        *advice(seen.claims, seen.wish),
        *_on_size(seen),
        *_on_timing(seen.timing),
        *_on_order(seen.timing, seen.wish),
        *_on_faces(seen),
    )


def mistakes(seen: Seen) -> Iterator[str]:
    """Why the two may not be the files that were meant."""
    source, target = seen.source, seen.target
    if source.sha256 == target.sha256:
        yield "input and output are the same file, byte for byte: nothing was compared"
    elif source.redacted and not (seen.claims and seen.claims.input.sha256 == source.sha256):
        yield (
            "the input is redacted itself, as its comment says: hold the output against what it was"
            " made of, or are input and output swapped?"
        )


def _on_files(source: FileFacts, target: FileFacts) -> Iterator[str]:
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


def _on_size(seen: Seen) -> Iterator[str]:
    """Whether smaller pictures were looked at than by runs, or by the one that made the output."""
    picture = seen.source.width, seen.source.height
    mine = _size(seen.wish.size, CLOSE, picture)
    if max(mine) < max(_size("auto", CLOSE, picture)):
        yield (
            f"--size {seen.wish.size} is smaller than the pictures that runs look at: faces that"
            " they find may have been missed here, in both files"
        )
    size, side = (seen.claims and seen.claims.chosen("detect", name) for name in ("size", "side"))
    if isinstance(side, int) and isinstance(size, str):
        theirs = _size(size, side, picture)
        if max(mine) < max(theirs):
            yield (
                "by its sidecar the output was made by a closer look than the audit's:"
                f" --size {theirs[0]}x{theirs[1]} looks as closely"
            )


def _size(size: str, side: int, picture: tuple[int, int]) -> tuple[int, int]:
    try:
        return auto_size(*picture, side=side) if size == "auto" else parse_size(size)
    except ConfigError:
        return 0, 0


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
            " so every face in them counts as unexplained, and nothing but the second detector"
            " looked for one"
        )


def _on_order(timing: Timing, wish: Wish) -> Iterator[str]:
    if timing.order is Order.SHIFTED:
        where = "later" if timing.lag < 0 else "earlier"
        frames = f"the input's {counted(abs(timing.lag), 'frame')} {where}"
        yield (
            f"the output's pictures are those of {frames}, not those at their time:"
            " it was compared with other frames than it was made of"
            + (f"; --frames {wish.start - timing.lag}- goes by that" if timing.lag < 0 else "")
        )
    elif timing.order is Order.UNRELATED:
        yield "the output's pictures are not those of the input at their time: is it made of it?"
    elif timing.is_unclear:
        yield (
            "frames are lacking, and too little moves to tell which ones: the others may have been"
            " compared with frames that they were not made of; --frames says what they were made of"
        )


def _on_faces(seen: Seen) -> Iterator[str]:
    if not seen.tracks:
        yield "no face was found in the input"
