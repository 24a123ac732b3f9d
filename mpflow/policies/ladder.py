"""The ladder: what is given up under load, rung by rung, and taken back the other way.

    level 0 --5 s of trouble--> 1 --5 s--> 2 ...        up: fast enough to bear a load that grows
    level 2 --20 s of calm--> 1 --20 s--> 0             down: one at a time, and slower

Trouble is a load that single-frame mode could not bear, or a machine short of memory or CPU time.
What a rung brings is measured when it is climbed: while the load does not look as if it would be
borne without it, six times as much calm is asked for. A return that brings the trouble back all
the same doubles the calm before the same rung is taken back again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mpflow.errors import ConfigError
from mpflow.policies.latch import OFF, Latch
from mpflow.policies.load import Load
from mpflow.policies.pressure import Pressure
from mpflow.policies.single_frame import Wish
from mpflow.tokens import Mode

CLIMB_AFTER_S = 5.0
"""What a rung brings shows within the seconds that Load remembers; the next one waits for that."""

RETURN_AFTER_S, LATEST_RETURN_S = 20.0, 640.0
LASTING_S = 120.0
"""A rung that was taken back for as long was no longer needed."""

SPARE_DEMAND, MOST_DEMAND = 0.7, 0.85
"""Taking back a rung makes some stage slower: nothing is taken back with less to spare, nor, for
long, where some stage would be asked for more than that as far as it is known what the rung
brought."""

LARGEST_GAIN, DOUBTFUL = 10.0, 6.0
"""What was measured may be wrong, or no longer true: so it only makes a return later."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One thing to give up: another ``value`` for an option of a stage, or (no option) the stage.

    ``value`` is text as the user wrote it, to be checked like any option.
    """

    stage: str
    option: str = ""
    value: str = ""

    @property
    def note(self) -> str:
        """How tokens name it."""
        return f"{self.stage}.{self.option}={self.value}" if self.option else f"-{self.stage}"


@dataclass(frozen=True, slots=True)
class Given:
    """What is given up: stages that are left out, options that differ, and both as tokens say."""

    skip: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def parse_ladder(
    texts: Sequence[str],
    tunable: Mapping[str, Collection[str]],
    fixed: Mapping[str, str],
) -> tuple[Rung, ...]:
    """Read ``detect.every=2`` and ``skip enhance``; raises ConfigError that names the rung.

    ``tunable`` has the options of every stage that can be changed while it runs. ``fixed`` says of
    stages that cannot be skipped why (``it hides people``).
    """
    return tuple(_rung(text, tunable, fixed) for text in texts)


def _rung(text: str, tunable: Mapping[str, Collection[str]], fixed: Mapping[str, str]) -> Rung:
    verb, _, skipped = text.strip().partition(" ")
    if verb == "skip" and skipped:
        return _skip(text, skipped.strip(), tunable, fixed)
    key, equals, value = text.partition("=")
    stage, dot, option = key.strip().partition(".")
    if not (equals and dot and stage and option and value.strip()):
        raise ConfigError(
            f"ladder: {text!r} is no rung",
            cure="write STAGE.OPTION=VALUE (detect.every=2) or skip STAGE (skip enhance)",
        )
    _known(text, stage, tunable)
    if option not in tunable[stage]:
        can = ", ".join(f"{stage}.{name}" for name in sorted(tunable[stage])) or "nothing"
        raise ConfigError(
            f"ladder: {text!r}: {stage}.{option} cannot be changed while a run is going",
            cure=f"of {stage}, {can} can",
        )
    return Rung(stage, option, value.strip())


def _skip(
    text: str, stage: str, tunable: Mapping[str, Collection[str]], fixed: Mapping[str, str]
) -> Rung:
    _known(text, stage, tunable)
    if stage in fixed:
        raise ConfigError(
            f"ladder: {text!r}: {stage} cannot be left out, since {fixed[stage]}",
            cure="give up something else",
        )
    return Rung(stage)


def _known(text: str, stage: str, tunable: Mapping[str, Collection[str]]) -> None:
    if stage not in tunable:
        raise ConfigError(
            f"ladder: {text!r}: there is no stage {stage!r}",
            cure=f"the stages are {', '.join(tunable)}",
        )


def in_force(rungs: Sequence[Rung], level: int) -> Given:
    """What the first ``level`` rungs give up; a later rung overrides an earlier one."""
    options: dict[str, dict[str, Any]] = {}
    last: dict[tuple[str, str], Rung] = {}
    for rung in rungs[:level]:
        last[rung.stage, rung.option] = rung
        if rung.option:
            options.setdefault(rung.stage, {})[rung.option] = rung.value
    return Given(
        skip=tuple(rung.stage for rung in last.values() if not rung.option),
        options=options,
        notes=tuple(rung.note for rung in last.values()),
    )


@dataclass(frozen=True, slots=True)
class LevelChange:
    """How many rungs are in force from now on, and why."""

    level: int
    reason: str


@dataclass(frozen=True, slots=True)
class LadderState:
    """The level, the two switches that lead from it, and what is known of each rung.

    ``calm_for`` has by rung the seconds of calm that its return takes, ``returned`` when that was
    last, and ``gain`` how many times lighter a frame became by it. ``before`` is what a frame was
    when the last rung was climbed, at ``climbed``; 0 once its gain is known.
    """

    level: int = 0
    trouble: Latch = OFF
    calm: Latch = OFF
    calm_for: Mapping[int, float] = field(default_factory=dict)
    returned: Mapping[int, float] = field(default_factory=dict)
    gain: Mapping[int, float] = field(default_factory=dict)
    before: float = 0.0
    climbed: float = 0.0


def choose_level(  # noqa: PLR0913 - all that decides, by name
    state: LadderState,
    load: Load,
    pressure: Pressure,
    now: float,
    *,
    top: int,
    mode: Mode,
    wish: Wish,
) -> tuple[LadderState, LevelChange | None]:
    """The level at one moment, and what is to be told when it is another than before.

    ``top`` is how many rungs there are, 0 where nothing may be given up. ``mode`` is the one in
    force, and ``wish`` what was asked for.
    """
    if state.level > top:
        return LadderState(top), LevelChange(top, "nothing more may be given up")
    state = _weighed(state, load, now)
    push = _push(load, pressure, single=mode is Mode.SINGLE_FRAME or wish is Wish.THROUGHPUT)
    needed = _calm_needed(state, load)
    trouble = state.trouble.look(push, now, on_after=CLIMB_AFTER_S, off_after=0.0)
    calm = state.calm.look(-push, now, on_after=needed, off_after=0.0)
    if trouble.on and state.level < top:
        return _climb(state, load, pressure.why or load.why, now)
    if calm.on and state.level > 0:
        return _return(state, needed, now)
    return replace(state, trouble=trouble, calm=calm), None


def _weighed(state: LadderState, load: Load, now: float) -> LadderState:
    """Note what the last rung brought, once its effect can be seen."""
    if not state.before or now - state.climbed < CLIMB_AFTER_S - 1.0:
        return state
    frame = _weight(load)
    gain = min(LARGEST_GAIN, max(1.0, state.before / frame)) if frame else 1.0
    return replace(state, before=0.0, gain={**state.gain, state.level: gain})


def _weight(load: Load) -> float:
    """What a frame asks for of the busiest stage, however many come; 0 where it is not known."""
    known = load.arrivals and math.isfinite(load.demand)
    return load.demand / load.arrivals if known else 0.0


def _push(load: Load, pressure: Pressure, *, single: bool) -> int:
    """+1 toward giving up more, -1 toward taking back; ``single``: smaller batches did not help."""
    if pressure.high or (single and load.push > 0):
        return 1
    return -1 if load.relieved and load.demand <= SPARE_DEMAND and pressure.calm else 0


def _calm_needed(state: LadderState, load: Load) -> float:
    """Seconds of calm before the rung in force is taken back: many more when it seems needed."""
    needed = state.calm_for.get(state.level, RETURN_AFTER_S)
    borne = load.demand * state.gain.get(state.level, 1.0) <= MOST_DEMAND
    return needed if borne else DOUBTFUL * needed


def _climb(state: LadderState, load: Load, why: str, now: float) -> tuple[LadderState, LevelChange]:
    level = state.level + 1
    back = state.returned.get(level)
    again = back is not None and now - back < LASTING_S
    longer = min(LATEST_RETURN_S, 2 * state.calm_for.get(level, RETURN_AFTER_S))
    after = replace(
        state,
        level=level,
        trouble=OFF,
        calm=OFF,
        calm_for={**state.calm_for, level: longer if again else RETURN_AFTER_S},
        before=_weight(load),
        climbed=now,
    )
    return after, LevelChange(level, f"more is given up: {why}")


def _return(state: LadderState, seconds: float, now: float) -> tuple[LadderState, LevelChange]:
    level = state.level - 1
    returned = {**state.returned, state.level: now}
    after = replace(state, level=level, trouble=OFF, calm=OFF, returned=returned, before=0.0)
    return after, LevelChange(level, f"less is given up: {seconds:.0f} s of calm")
