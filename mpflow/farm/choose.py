"""Which chunks of a plan are asked for: by number, or by the frames that they are made of."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from mpflow.errors import ConfigError
from mpflow.farm.numbers import as_text, read_ranges
from mpflow.farm.plan import Plan


def by_number(plan: Plan, text: str, option: str) -> list[int]:
    """Chunk numbers of a list such as ``0-3,7``, each once, in order.

    Raises ConfigError for a number that the plan does not have.
    """
    count = len(plan.chunks)
    wanted: set[int] = set()
    for start, stop in read_ranges(text, count, option):
        if stop > count:
            raise ConfigError(
                f"there is no chunk {max(start, count)}: the plan has {count}",
                cure=f"they are numbered from 0 to {count - 1}",
            )
        wanted.update(range(start, stop))
    return sorted(wanted)


def by_frames(plan: Plan, text: str) -> list[int]:
    """The chunks that ranges of frames such as ``0-59`` cover exactly.

    Raises ConfigError for a range that holds only part of a chunk, or frames that are none of the
    plan's; the cure names whole chunks.
    """
    wanted: set[int] = set()
    for start, stop in read_ranges(text, plan.stop, "--frames"):
        if start < plan.start or stop > plan.stop:
            raise ConfigError(
                f"frames {as_text(start, stop)} are not all in the plan:"
                f" it has {as_text(plan.start, plan.stop)}",
                cure=_nearest(plan, start, stop),
            )
        numbers = _covering(plan, start, stop)
        if plan.chunks[numbers[0]][0] != start or plan.chunks[numbers[-1]][1] != stop:
            raise ConfigError(
                f"frames {as_text(start, stop)} are not whole chunks of the plan",
                cure=_nearest(plan, start, stop),
            )
        wanted.update(numbers)
    return sorted(wanted)


def _covering(plan: Plan, start: int, stop: int) -> range:
    """Every chunk that has one of these frames."""
    first = bisect_right(plan.chunks, start, key=lambda chunk: chunk[0]) - 1
    last = bisect_left(plan.chunks, stop, key=lambda chunk: chunk[1])
    return range(first, last + 1)


def _nearest(plan: Plan, start: int, stop: int) -> str:
    start = min(max(start, plan.start), plan.stop - 1)
    stop = min(max(stop, start + 1), plan.stop)
    numbers = _covering(plan, start, stop)
    whole = as_text(plan.chunks[numbers[0]][0], plan.chunks[numbers[-1]][1])
    return f"--frames {whole} are whole chunks, or use --chunk"
