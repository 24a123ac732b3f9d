"""Sizes of the scaled picture that a face detector looks at."""

from __future__ import annotations

import re

from mpflow.errors import ConfigError

# The network's coarsest grid has a cell of 32 pixels, and small faces are found down to about
# 10 pixels of the scaled picture: 640 along the longer side finds one of 30 in a 1080p frame.
GRID = 32
AUTO_SIDE = 640
_MOST_ENLARGED = 2


def parse_size(text: str) -> tuple[int, int]:
    """Read WIDTHxHEIGHT; raises ConfigError unless both are multiples of 32."""
    match = re.fullmatch(r"(\d{2,4})x(\d{2,4})", text)
    sides = (int(match[1]), int(match[2])) if match else (0, 0)
    if not all(sides) or any(side % GRID for side in sides):
        raise ConfigError(
            f"the detector size {text!r} does not fit",
            cure=f"WIDTHxHEIGHT in multiples of {GRID} such as 640x384, or auto",
        )
    return sides


def auto_size(
    width: int, height: int, multiple: int = GRID, side: int = AUTO_SIDE
) -> tuple[int, int]:
    """A size of a picture's own shape: ``side`` along its longer side, a small one at most
    doubled."""
    scale = min(side / max(width, height), _MOST_ENLARGED)
    return _round_up(width * scale, multiple), _round_up(height * scale, multiple)


def _round_up(side: float, multiple: int) -> int:
    return max(1, -(-round(side) // multiple)) * multiple
