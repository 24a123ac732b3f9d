"""What a pipeline is asked to do just now: its own options, less what load takes, plus what its
owner has changed since; put together into one Helm.

    ladder (rungs in force)  <  the owner's `set`, `skip` and `unskip`

A private pipeline never leaves out a stage on which hiding people depends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import msgspec

from mpflow.errors import ConfigError, Refused
from mpflow.importer import AnyStageClass, did_you_mean, read_options, stage_class
from mpflow.layers import yaml_value
from mpflow.making import makes_faces
from mpflow.policies.ladder import Rung, in_force, parse_ladder
from mpflow.spec import Helm, PipelineSpec, StageSpec
from mpflow.stage import ANYTHING, Stage
from mpflow.tokens import Mode


@dataclass
class Wheel:
    """Puts the wishes together. Raises ConfigError for a ladder that this pipeline cannot climb."""

    spec: PipelineSpec
    rungs: tuple[Rung, ...] = ()
    skipped: dict[str, bool] = field(default_factory=dict)
    """What the owner said of a stage: leave it out, or by no means."""
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    threads: dict[str, int] = field(default_factory=dict)
    """Threads that the supervisor gave to a stage; no change of quality."""

    def __post_init__(self) -> None:
        self._stages = {stage.name: stage for stage in self.spec.stages}
        self._classes = {name: stage_class(s.target) for name, s in self._stages.items()}
        self._fixed = fixed_stages(self.spec, self._classes)
        tunable = {name: tunable_options(cls) for name, cls in self._classes.items()}
        self.rungs = parse_ladder(self.spec.ladder, tunable, self._fixed)
        for rung in self.rungs:
            if rung.option:
                self._checked(rung.stage, {rung.option: yaml_value(rung.value)})

    @property
    def threaded(self) -> tuple[str, ...]:
        """The stages whose threads may be changed while they run."""
        return tuple(
            name for name, cls in self._classes.items() if "threads" in tunable_options(cls)
        )

    def ahead(self, workers: Mapping[str, int]) -> dict[str, int]:
        """How many frames each stage may have waiting in front of the next, in a live run that
        takes the newest first: one for each of its workers.

        Where the next stage takes frames in their order there is no such bound: it may wait for
        the very frame that would not be taken here.
        """
        inner = [stage.name for stage in self.spec.stages[1:-1]]
        return {
            name: workers.get(follower, 1)
            for name, follower in pairwise(inner)
            if not getattr(self._classes[follower], "ordered", True)
        }

    def helm(
        self,
        mode: Mode,
        level: int,
        shed_after: Mapping[str, float],
        reason: str,
        workers: Mapping[str, int],
    ) -> Helm:
        """Everything together; ``workers`` are those at work, by stage."""
        given = in_force(self.rungs, level)
        skip = [s for s in self._stages if self.skipped.get(s, s in given.skip)]
        changed: dict[str, dict[str, Any]] = {}
        for stage, options in given.options.items():
            changed[stage] = {key: yaml_value(value) for key, value in options.items()}
        for stage, options in self.options.items():
            changed[stage] = {**changed.get(stage, {}), **options}
        changed = {stage: self._differing(stage, options) for stage, options in changed.items()}
        notes = [f"-{stage}" for stage in skip]
        notes += [f"{s}.{key}={value}" for s, o in changed.items() for key, value in o.items()]
        for stage, threads in self.threads.items():
            changed[stage] = {"threads": threads, **changed.get(stage, {})}
        newest = self.spec.live and mode is Mode.SINGLE_FRAME
        return Helm(
            mode,
            level,
            tuple(skip),
            changed,
            tuple(notes),
            dict(shed_after),
            self.ahead(workers) if newest else {},
            reason,
        )

    def skip(self, stage: str) -> None:
        """Leave a stage out from now on; raises ConfigError or Refused where that cannot be."""
        self._known(stage)
        if why := self._fixed.get(stage):
            kind = Refused if self.spec.privacy else ConfigError
            raise kind(f"{stage} cannot be left out: {why}", cure="skip another stage, or stop")
        self.skipped[stage] = True

    def unskip(self, stage: str) -> None:
        """Take a stage in again, whatever the ladder says."""
        self._known(stage)
        self.skipped[stage] = False

    def set(self, key: str, text: str) -> Any:
        """Change an option, ``STAGE.OPTION``; returns its value as it was read."""
        stage, dot, option = key.partition(".")
        if not dot:
            known = [f"{each}.{o}" for each, c in self._classes.items() for o in tunable_options(c)]
            raise ConfigError(
                f"there is no {key!r} to be set", cure=did_you_mean(key, [*known, "max_latency"])
            )
        self._known(stage)
        tunable = tunable_options(self._classes[stage])
        if option not in tunable:
            cure = f"it can change: {', '.join(tunable)}" if tunable else "restart with --set"
            raise ConfigError(f"{key} cannot be changed while {stage} runs", cure=cure)
        value = yaml_value(text)
        value = self._checked(stage, {**self.options.get(stage, {}), option: value})[option]
        self.options.setdefault(stage, {})[option] = value
        return value

    def _checked(self, stage: str, changed: Mapping[str, Any]) -> dict[str, Any]:
        """The stage's options with changes, as plain values; raises ConfigError by name."""
        given = {**self._stages[stage].options, **changed}
        checked: dict[str, Any] = msgspec.to_builtins(
            read_options(stage, self._classes[stage], given)
        )
        return checked

    def _differing(self, stage: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the options that are not as the run was asked to be anyway."""
        own = self._stages[stage].options
        return {key: value for key, value in options.items() if own.get(key) != value}

    def _known(self, stage: str) -> StageSpec:
        if stage not in self._stages:
            raise ConfigError(
                f"the run has no stage {stage!r}", cure=did_you_mean(stage, [*self._stages])
            )
        return self._stages[stage]


def tunable_options(cls: AnyStageClass) -> tuple[str, ...]:
    """The options of a stage that may be changed while it runs."""
    return cls.tunable if issubclass(cls, Stage) else ()


def fixed_stages(spec: PipelineSpec, classes: Mapping[str, AnyStageClass]) -> dict[str, str]:
    """The stages that are never left out, and why not."""
    names = list(classes)
    fixed = {names[0]: "it reads the input", names[-1]: "it writes the output"}
    if makes_faces(spec):
        marking = (name for name, cls in classes.items() if getattr(cls, "marks_faces", False))
        fixed |= dict.fromkeys(marking, "it marks that faces were made")
    if not spec.privacy:
        return fixed
    needed: set[str] = set()
    for name in reversed(names):
        cls = classes[name]
        gives = set(cls.gives)
        if getattr(cls, "protects", False):
            fixed.setdefault(name, "it hides people, and the run is private")
            needed |= set(cls.needs)
        elif needed & gives or (needed and ANYTHING in gives):
            fixed.setdefault(name, "what hides people needs what it finds")
            needed |= set(cls.needs)
    return fixed
