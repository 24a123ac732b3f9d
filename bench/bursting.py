"""Sources whose frames arrive in groups, as from a camera that sends a second's worth at once.

The next group comes after a set time, in which whoever is measured has done with the last one; so
the age of a frame at the end tells how long a group keeps its own frames waiting, and no backlog
grows over the groups.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from napping import Blank, BlankOptions

from mpflow.spec import BEGINNING, Place
from mpflow.stage import Picture
from mpflow.stages.decode import Decode, DecodeOptions


class BurstOptions(BlankOptions, frozen=True):
    """``group`` frames at once, every ``period_ms``."""

    group: int = 8
    period_ms: float = 1000.0


class Burst(Blank):
    """Blank frames in groups."""

    Options = BurstOptions
    options: BurstOptions

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        return grouped(super().pictures(place), self.options.group, self.options.period_ms / 1000)


class BurstDecodeOptions(DecodeOptions, frozen=True):
    """``group`` frames of a file at once, every ``period_ms``."""

    group: int = 8
    period_ms: float = 1000.0


class BurstDecode(Decode):
    """A file whose frames come in groups; decoding them is part of their age."""

    Options = BurstDecodeOptions
    options: BurstDecodeOptions

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        return grouped(super().pictures(place), self.options.group, self.options.period_ms / 1000)


def grouped(pictures: Iterator[Picture], group: int, period: float) -> Iterator[Picture]:
    """Pictures with the moment at which their group arrives; a group is not given before that."""
    began = time.monotonic() + period / 2  # whoever opens late is not measured
    pictures = iter(pictures)
    number = 0
    while True:
        due = began + number // group * period
        if (early := due - time.monotonic()) > 0:
            time.sleep(early)  # nothing to wait for but the clock
        picture = next(pictures, None)
        if picture is None:
            return
        yield replace(picture, arrived=int(due * 1e9))
        number += 1
