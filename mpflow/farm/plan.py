"""The plan: one input cut into chunks, with everything resolved that a machine needs to make one.

It is a JSON file, by default ``OUTPUT.parts/plan.json``. Its paths are absolute, or relative to
the folder that the plan lies in, so that a share may have another place on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mpflow._version import __version__
from mpflow.errors import ConfigError, Refused
from mpflow.farm.numbers import Range, list_text
from mpflow.spec import PipelineSpec, StageSpec, Value
from mpflow.wholefile import write_whole

KIND = "mpflow plan"
FORMAT = 1
PLAN_NAME = "plan.json"

_AGAIN = "make it again with `mpflow plan`"


class Plan(Value, frozen=True):
    """Frames of ``input`` as ``chunks`` ``[start, stop)``, made in ``parts``, joined to ``output``.

    ``frames`` is how many the input has; the chunks are contiguous and may cover only a range of
    them. ``pipeline`` is the configuration as resolved, the encoder's threads included;
    ``imports`` is a folder with stages of one's own. With ``analysed``, what stages with a memory
    find is found once, before the chunks are made (mpflow.farm.analyse).
    """

    input: str
    output: str
    parts: str
    frames: int
    chunks: tuple[Range, ...]
    pipeline: PipelineSpec
    imports: str = ""
    analysed: bool = False
    mpflow: str = __version__
    format: int = FORMAT
    kind: str = KIND

    @property
    def start(self) -> int:
        """The first frame that is wanted."""
        return self.chunks[0][0]

    @property
    def stop(self) -> int:
        """The frame after the last one that is wanted."""
        return self.chunks[-1][1]

    @property
    def sink(self) -> StageSpec:
        """The stage that writes chunks and joins them."""
        return self.pipeline.stages[-1]

    def missing(self, made: Iterable[Range]) -> list[int]:
        """The numbers of the chunks that are not among those made."""
        there = set(made)
        return [number for number, chunk in enumerate(self.chunks) if chunk not in there]


def chunk_words(numbers: list[int]) -> str:
    """``chunk 3`` or ``chunks 3-5,9``."""
    return f"chunk{'s' if len(numbers) > 1 else ''} {list_text(numbers)}"


@dataclass(frozen=True, slots=True)
class PlanFile:
    """Where a plan is kept; ``relative`` notes its paths as seen from there."""

    path: Path
    relative: bool = False

    def save(self, plan: Plan) -> None:
        """Write it whole or not at all, also when the machine dies; raises OSError."""
        noted = _relative_to(self.path.parent, plan) if self.relative else plan
        text = msgspec.json.format(msgspec.json.encode(noted), indent=1)
        write_whole(self.path, text + b"\n")


def as_read(plan: Plan) -> Plan:
    """The plan as it comes back from its file, where a tuple among the options is a list."""
    return msgspec.json.decode(msgspec.json.encode(plan), type=Plan)


def load(path: Path) -> Plan:
    """Read a plan, its paths made absolute.

    Raises ConfigError for a file that is no plan or contradicts itself, Refused for a plan of
    another version of mpflow.
    """
    plan = _decode(path)
    _check(plan, path)
    base = Path(os.path.realpath(path.parent))
    places = {name: _located(base, getattr(plan, name)) for name in ("input", "output", "parts")}
    return msgspec.structs.replace(plan, **places)


def _relative_to(folder: Path, plan: Plan) -> Plan:
    base = os.path.realpath(folder)
    places = {
        name: os.path.relpath(os.path.realpath(getattr(plan, name)), base)
        for name in ("input", "output", "parts")
    }
    return msgspec.structs.replace(plan, **places)


class _Head(msgspec.Struct):
    kind: str = ""
    format: int = 0
    mpflow: str = ""


def _decode(path: Path) -> Plan:
    data = _read(path)
    try:
        head = msgspec.json.decode(data, type=_Head)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{str(path)!r} is damaged or no plan: {error}", cure=_AGAIN) from error
    if head.kind != KIND:
        raise ConfigError(
            f"{str(path)!r} is no plan", cure="give the plan.json that `mpflow plan` wrote"
        )
    if head.format != FORMAT or head.mpflow != __version__:
        raise Refused(
            f"{str(path)!r} was made by mpflow {head.mpflow or '?'} (format {head.format}),"
            f" this is {__version__} (format {FORMAT})",
            cure="use the same version for a whole job, or make the plan again",
        )
    try:
        return msgspec.json.decode(data, type=Plan)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{str(path)!r} is damaged: {error}", cure=_AGAIN) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(
            f"there is no plan {str(path)!r}",
            cure="make one with `mpflow plan`; is the share mounted on this machine?",
        ) from error
    except IsADirectoryError as error:
        raise ConfigError(
            f"{str(path)!r} is a folder", cure=f"give the plan in it: {path / PLAN_NAME}"
        ) from error
    except OSError as error:
        raise ConfigError(f"plan {str(path)!r} cannot be read: {error.strerror}") from error


def _check(plan: Plan, path: Path) -> None:
    """Raise ConfigError where a plan contradicts itself."""
    at = plan.chunks[0][0] if plan.chunks else -1
    whole = bool(plan.chunks) and at >= 0 and len(plan.pipeline.stages) >= 2
    for start, stop in plan.chunks:
        whole = whole and start == at and stop > start
        at = stop
    if not whole or at > plan.frames:
        raise ConfigError(
            f"{str(path)!r} is damaged: its chunks do not follow each other within"
            f" {plan.frames} frames",
            cure=_AGAIN,
        )


def _located(base: Path, place: str) -> str:
    """A relative place as the machine finds it, links followed as they were when it was noted."""
    return place if Path(place).is_absolute() else os.path.realpath(base / place)
