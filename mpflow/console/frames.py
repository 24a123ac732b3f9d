"""Which frames a user means: ``--frames A-B``, or ``--start-frame`` and ``--end-frame``.

Frames are counted from 0 as they are shown, and both ends are meant; a job counts up to, not
including, its ``stop``.
"""

from __future__ import annotations

import re

from mpflow.errors import ConfigError

_RANGE = re.compile(r"(\d+)(?:(-)(\d+)?)?")


def wanted_frames(
    frames: str | None, start_frame: int | None, end_frame: int | None
) -> tuple[int, int | None]:
    """The first frame, and the one after the last (None: all to the end); raises ConfigError."""
    if frames is None:
        return _checked(
            start_frame or 0, end_frame, f"--start-frame {start_frame} --end-frame {end_frame}"
        )
    if start_frame is not None or end_frame is not None:
        raise ConfigError(
            "--frames and --start-frame or --end-frame contradict each other",
            cure="give --frames FIRST-LAST alone",
        )
    found = _RANGE.fullmatch(frames.strip())
    if found is None:
        raise ConfigError(
            f"--frames {frames!r} is not FIRST-LAST",
            cure="write for example --frames 0-99 for the first hundred frames, or --frames 100-",
        )
    first, dash, last = int(found[1]), found[2], found[3]
    if not dash:
        return first, first + 1
    return _checked(first, None if last is None else int(last), f"--frames {frames}")


def _checked(first: int, last: int | None, flags: str) -> tuple[int, int | None]:
    if last is not None and last < first:
        raise ConfigError(f"{flags}: the last frame comes before the first", cure="swap the two")
    return first, None if last is None else last + 1
