"""From an input and a resolved configuration to a plan, and the parts folder that goes with it.

    job -> probe -> number of frames -> chunks -> Plan -> checkpoint -> plan.json

Planning the same again changes nothing, so a farm may repeat the step.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import msgspec

from mpflow.errors import ConfigError, InputError, OutputError
from mpflow.farm.analyse import has_memory, require_memory
from mpflow.farm.differ import difference, same
from mpflow.farm.folder import set_up, tear_down
from mpflow.farm.numbers import Range
from mpflow.farm.plan import PLAN_NAME, Plan, PlanFile, as_read, load
from mpflow.farm.sink import require_chunks
from mpflow.farm.split import Split
from mpflow.importer import check_input
from mpflow.machine import core_budget
from mpflow.models.description import is_description
from mpflow.spec import JobSpec, MediaInfo, PipelineSpec, StageSpec, parts_name
from mpflow.urls import is_url


@dataclass(frozen=True, slots=True)
class Wish:
    """How an input shall be cut: frames ``start`` up to ``stop`` (None: all that follow).

    ``file`` is where the plan goes, by default into the parts folder; ``relative`` notes paths
    relative to it. ``fresh`` starts anew where there is a plan already. ``analyse``: the input
    shall be analysed before its chunks are made.
    """

    split: Split
    start: int = 0
    stop: int | None = None
    file: Path | None = None
    relative: bool = False
    fresh: bool = False
    analyse: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plan, its file, and whether it was there already."""

    plan: Plan
    file: Path
    repeated: bool


def draw(job: JobSpec, spec: PipelineSpec, wish: Wish, warn: Callable[[str], None]) -> Drawn:
    """Plan a job and write everything down.

    Raises InputError for what cannot be read or counted, ConfigError for an impossible range or
    split, OutputError where another plan is in the way, Refused where the input has changed.
    """
    final = absolute(job.output)
    file = wish.file or parts_name(final) / PLAN_NAME
    _check(job, spec, wish, warn)
    media, frames = _look_at(job.input)
    check_input(spec.stages, job, _counted(media, frames))
    earlier = load(file) if os.path.lexists(file) and not wish.fresh else None
    plan = as_read(
        Plan(
            input=str(absolute(job.input)),
            output=str(final),
            parts=str(parts_name(final)),
            frames=frames,
            chunks=_chunks(wish, media, frames),
            pipeline=_settled(spec, earlier),
            imports=_imports(spec.preset),
            analysed=wish.analyse,
        )
    )
    if earlier is not None and not same(earlier, plan):
        raise OutputError(
            f"{str(file)!r} is another plan: {difference(earlier, plan)}",
            cure="go on with that one, or start anew with -y",
        )
    if wish.fresh:
        tear_down(plan)
    set_up(plan, media, PlanFile(file, wish.relative), warn)
    return Drawn(plan, file, repeated=earlier is not None)


def absolute(path: str) -> Path:
    """A path from the root, links left as they are: a share's name may be one."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def _check(job: JobSpec, spec: PipelineSpec, wish: Wish, warn: Callable[[str], None]) -> None:
    require_chunks(spec)
    if wish.analyse:
        require_memory(spec)
    elif has_memory(spec):
        warn(
            "each chunk follows faces for itself; with --analyse tracks go on from one to the next"
        )
    wish.split.check()
    if is_url(job.input):
        raise ConfigError(
            "a URL cannot be planned: every machine must find any frame of it",
            cure="copy it to storage that all machines share",
        )
    if wish.file is not None and not wish.file.parent.is_dir():
        raise OutputError(
            f"the folder {str(wish.file.parent)!r} of the plan does not exist", cure="create it"
        )


def _look_at(path: str) -> tuple[MediaInfo, int]:
    """The input as probed, and how many frames it has by its packets."""
    from mpflow.media.index import read_index
    from mpflow.media.probe import probe

    media = probe(path)
    frames = read_index(path, media).frames
    if frames == 0:
        raise InputError(f"{path!r} has no frames", cure="is the file whole?")
    return media, frames


def _counted(media: MediaInfo, frames: int) -> MediaInfo:
    """The input as probed, and with its frames counted."""
    return msgspec.structs.replace(media, video=msgspec.structs.replace(media.video, frames=frames))


def _chunks(wish: Wish, media: MediaInfo, frames: int) -> tuple[Range, ...]:
    from mpflow.media.ranges import Frames

    Frames(wish.start, wish.stop).check(media.path, frames)
    stop = frames if wish.stop is None else wish.stop
    rate = media.video.average_rate
    return wish.split.chunks(wish.start, stop, Fraction(*rate) if rate else None)


def _settled(spec: PipelineSpec, earlier: Plan | None) -> PipelineSpec:
    """The configuration with all that this machine decides: the others must decide the same.

    An encoder's threads change its output. Where they were not asked for, an earlier plan's
    number stays, so that planning again on a machine with other cores is the same plan.
    """
    from mpflow.media.encoder import threads_for

    *others, sink = spec.stages
    threads = int(sink.options["threads"])
    if not threads and earlier is not None:
        threads = int(earlier.sink.options.get("threads", 0))
    threads = threads or threads_for(str(sink.options["codec"]), core_budget())
    sink = msgspec.structs.replace(sink, options={**sink.options, "threads": threads})
    stages = (*map(_with_whole_path, others), sink)
    return msgspec.structs.replace(spec, preset=Path(spec.preset).stem, stages=stages)


def _with_whole_path(stage: StageSpec) -> StageSpec:
    """A model or a picture of one's own is found from any folder."""
    files = {name: stage.options.get(name) for name in ("path", "image")}
    if is_description(str(stage.options.get("model", ""))):
        files["model"] = stage.options["model"]
    whole = {name: str(absolute(path)) for name, path in files.items() if path}
    return msgspec.structs.replace(stage, options={**stage.options, **whole}) if whole else stage


def _imports(preset: str) -> str:
    """The folder of a preset file: stages of one's own may lie there."""
    return str(absolute(preset).parent) if preset.endswith((".yaml", ".yml")) else ""
