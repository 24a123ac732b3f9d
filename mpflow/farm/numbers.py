"""Lists of numbers as farm managers and people write them: ``0-3,7,9-``, both ends included."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mpflow.errors import ConfigError

_ITEM = re.compile(r"\s*(\d+)\s*(?:(-)\s*(\d+)?)?\s*")

Range = tuple[int, int]
"""``[start, stop)``."""


def read_ranges(text: str, end: int, what: str) -> list[Range]:
    """The ranges of a list such as ``0-3,7,9-``; an open end reaches ``end``.

    ``what`` names the option in errors. Raises ConfigError for what is no list, or runs backwards.
    """
    return [_read_item(item, end, text, what) for item in text.split(",")]


def as_text(start: int, stop: int) -> str:
    """One range, both ends included: ``4-7``, or ``4`` alone."""
    return f"{start}-{stop - 1}" if stop - start > 1 else str(start)


def list_text(numbers: Iterable[int]) -> str:
    """Numbers in order as a list that ``read_ranges`` takes: ``0-3,7``."""
    return ",".join(as_text(*run) for run in _runs(numbers))


def _read_item(item: str, end: int, text: str, what: str) -> Range:
    found = _ITEM.fullmatch(item)
    if found is None:
        raise ConfigError(
            f"{what} {text!r} is not a list of numbers and ranges", cure="write for example 0-3,7"
        )
    first, dash, last = found.groups()
    start = int(first)
    stop = (int(last) + 1 if last else max(end, start + 1)) if dash else start + 1
    if stop <= start:
        raise ConfigError(f"{what} {text!r} runs backwards", cure="write the smaller number first")
    return start, stop


def _runs(numbers: Iterable[int]) -> Iterator[Range]:
    """Neighbours together."""
    start = stop = -1
    for number in numbers:
        if number != stop:
            if stop >= 0:
                yield start, stop
            start = number
        stop = number + 1
    if stop >= 0:
        yield start, stop
