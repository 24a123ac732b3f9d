"""What is to be done, as frozen values: a pipeline, its stages, the jobs, and what an input is.

These structs travel between processes as msgpack and are read from YAML, so each of them is
strict: an unknown key is an error that names the key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from mpflow.accounts import Latency, LedgerSummary
from mpflow.tokens import Mode

Overwrite = Literal["ask", "yes", "no"]
OnFailure = Literal["mask", "pass", "skip", "fail"]
"""What becomes of a frame that a stage cannot work on: covered whole, given on as it is, left out
of the output, or the run ends."""
Degrade = Literal["live", "always", "never"]
"""In which runs quality may be given up under load."""
Ratio = tuple[int, int]

LIVE_TTL_S = 300.0
"""How long a frame of a live run lives at most, wherever it is."""

STDOUT = "-"
"""As an output: the caller's standard output."""

REDACTED = "Redacted with mpflow"
REDACTED_IN_PART = "Redacted in part with mpflow"
"""What the comment of a redacted file says; in part where some faces were to stay as they are."""

Making = Literal["", "composite", "generated"]
"""How faces in an output were made: none was; of photos, by warping; or by a generative network,
which may have had a hand in only some of them."""

MADE = "Faces made with mpflow"
"""What the comment of a file says in which faces were made."""


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all specs: frozen and strict."""


class Helm(Value, frozen=True):
    """How a running pipeline is steered: the same for all workers, replaced as a whole.

    ``mode`` and ``level`` (how many rungs of the ladder are in force) say how the run bears its
    load. ``skip`` names stages that are left out, ``options`` holds what differs from a stage's
    own options, ``notes`` is both as tokens name it (``detect.every=2``, ``-enhance``), and
    ``reason`` says why it was changed last. ``shed_after`` is, by stage, the age in seconds from
    which a frame comes too late for it: in live runs it is dropped instead of worked on. A stage
    in ``ahead`` makes no more than so many frames wait for the next one, which would only take the
    newest of them. ``max_latency`` is what the owner has set it to by now; 0 for the rules' own.
    """

    mode: Mode = Mode.THROUGHPUT
    level: int = 0
    skip: tuple[str, ...] = ()
    options: dict[str, dict[str, Any]] = {}
    notes: tuple[str, ...] = ()
    shed_after: dict[str, float] = {}
    ahead: dict[str, int] = {}
    reason: str = ""
    max_latency: float = 0.0


class StageSpec(Value, frozen=True):
    """One stage of a pipeline: its name in tokens, the class behind it, options and workers.

    ``target`` is ``package.module:Class``; ``options`` is checked against the class's own
    ``Options`` when the configuration is resolved. A worker that shows no sign of life for
    ``limit`` seconds while there is work for it is killed and replaced; 0 derives the limit from
    measured service times. With ``auto``, ``workers`` are the most there may be: one works at
    first, and the supervisor adds and takes away as the load asks.
    """

    name: str
    target: str
    options: dict[str, Any] = {}
    workers: int = 1
    limit: float = 0.0
    auto: bool = False


class PipelineSpec(Value, frozen=True):
    """A resolved preset: stages in order (a source first; a sink last, or the caller itself).

    ``slots`` 0 means as many as help; ``memory`` (MiB) 0 means a share of what is free. With no
    frame moving for ``stall`` seconds the run ends and names who holds it up. A frame that a stage
    fails on is tried ``retries`` times more; then ``on_failure`` decides. ``core_dumps`` lets a
    crashed worker leave one. ``on_alert`` is a command that gets alerts as JSON; ``no_face_for``
    seconds without a face raise one (0: never), and so does less than ``low_disk`` MiB of disk.

    ``live`` runs bound the age of a frame to ``max_latency`` seconds and drop what comes later; no
    other run drops anything. A frame that is ``ttl`` seconds old is given up in a live run, and
    taken from a worker that keeps it so long in a file run (0: 300 in live runs, never in others).
    Under load ``ladder`` is climbed rung by rung (``detect.every=2``, ``skip enhance``): with
    ``degrade`` live in live runs only, always or never. ``alert_p99`` is an age in milliseconds
    that raises an alert, 0 for ``max_latency``'s. ``metrics`` is a HOST:PORT to serve them at,
    ``name`` what other commands may call the run. ``sidecar`` has a redacted video come with a file
    that says what was done to it.
    """

    preset: str
    stages: tuple[StageSpec, ...]
    privacy: bool = False
    slots: int = 0
    memory: int = 0
    offline: bool = False
    strict: bool = False
    log_level: str = "info"
    stall: float = 60.0
    retries: int = 2
    on_failure: OnFailure = "fail"
    core_dumps: bool = False
    on_alert: str = ""
    no_face_for: float = 0.0
    low_disk: int = 512
    live: bool = False
    max_latency: float = 2.0
    ttl: float = 0.0
    ladder: tuple[str, ...] = ()
    degrade: Degrade = "live"
    alert_p99: float = 0.0
    metrics: str = ""
    name: str = ""
    sidecar: bool = True

    @property
    def lifetime(self) -> float:
        """Seconds after which a frame has expired; 0 for never."""
        return self.ttl or (LIVE_TTL_S if self.live else 0.0)

    @property
    def degrades(self) -> bool:
        """Whether the ladder may be climbed."""
        return self.degrade == "always" or (self.degrade == "live" and self.live)


ONLY_SPEED = frozenset({"max_batch", "max_wait_ms", "threads"})
"""Options that change how fast frames are made, not how they look. An encoder's threads do that."""


def settings_of(spec: PipelineSpec) -> dict[str, Any]:
    """What decides how a pipeline's frames look: every stage with its options, by its name."""
    *others, sink = spec.stages
    looks = {
        stage.name: {key: value for key, value in stage.options.items() if key not in ONLY_SPEED}
        for stage in others
    }
    return {"stages": [s.target for s in spec.stages], **looks, sink.name: sink.options}


class JobSpec(Value, frozen=True):
    """One input and where its output goes. ``partial`` is the output's name while it is made.

    Frames ``start`` up to, not including, ``stop`` are wanted, counted from 0 as they are shown.
    ``resume`` goes on with what an earlier run left in ``parts``, the folder of finished chunks.
    ``chunk`` makes nothing but that range as one chunk in ``parts``. ``tokens`` and ``trace`` are
    files that get each frame's final token, and a timeline of all workers; ``sidecar`` is one that
    says in the end what was done. ``settings`` are the options of all stages by name, as far as
    they tell in the output: parts made with others are refused. ``live`` inputs and outputs are
    streams: nothing of them can be asked for again. ``preview`` is where a picture of the output
    goes when one is asked for without a place. ``analysed`` says that what stages with a memory
    put on frames is all in ``parts`` already.
    """

    id: str
    input: str
    output: str = ""
    partial: str = ""
    overwrite: bool = False
    start: int = 0
    stop: int | None = None
    resume: bool = False
    parts: str = ""
    chunk: bool = False
    tokens: str = ""
    trace: str = ""
    sidecar: str = ""
    settings: dict[str, Any] = {}
    live: bool = False
    preview: str = ""
    analysed: bool = False


class Place(Value, frozen=True):
    """Where in a job's frames to go on: ``frame`` is the next one, counted from the job's first.

    ``after`` is the time stamp of the frame before it, where that is known. ``counted`` says that
    damage makes index and pictures disagree: only counting pictures from the beginning finds it.
    """

    frame: int = 0
    after: int | None = None
    counted: bool = False


BEGINNING = Place()


def parts_name(final: Path) -> Path:
    """NAME.EXT.parts beside NAME.EXT: the folder of finished chunks, the checkpoint of a job."""
    return final.with_name(f"{final.name}.parts")


def name_in_parts(job: JobSpec, name: str) -> str:
    """What a file of the job beside its chunks is called: in parts that are shared with others,
    who make chunks of their own, after the job's range (``000000060-000000120.ledger``)."""
    if not job.chunk:
        return name
    return f"{job.start:09d}-{job.stop or 0:09d}.{Path(name).stem}"


def partial_name(final: Path) -> Path:
    """NAME.partial.EXT beside NAME.EXT: the ending stays, and with it the kind of file."""
    return final.with_name(f"{final.stem}.partial{final.suffix}")


class RunSpec(Value, frozen=True):
    """A run as a program asks for it: the Python door's counterpart of a command line.

    ``set`` holds overrides such as ``{"detect.size": "320x192"}``. Frames ``start`` up to, not
    including, ``stop`` are wanted; ``resume`` goes on with what an earlier run left. ``tokens``
    and ``trace`` are files that get each frame's final token, and a timeline of all workers.
    """

    input: str | Path
    output: str | Path = ""
    preset: str = "redact"
    set: dict[str, Any] = {}
    overwrite: bool = False
    config: str | Path = ""
    log_file: str | Path = ""
    start: int = 0
    stop: int | None = None
    resume: bool = False
    tokens: str | Path = ""
    trace: str | Path = ""


class StreamInfo(Value, frozen=True):
    """One stream of an input, as its container describes it."""

    index: int
    kind: str
    codec: str
    language: str = ""
    title: str = ""
    attached_picture: bool = False


class VideoInfo(Value, frozen=True):
    """The picture stream that is worked on.

    ``pixel_format`` is what stands in the ring (a name of mpflow.frame.PIXEL_FORMATS);
    ``source_format`` is what the decoder gives. ``rotation`` is in degrees, counter-clockwise, as
    the display matrix says. ``matrix``, ``primaries``, ``transfer`` are ITU-T H.273 codes and
    ``range`` is FFmpeg's (0 unknown, 1 limited, 2 full).
    """

    index: int
    codec: str
    width: int
    height: int
    pixel_format: str
    source_format: str
    time_base: Ratio
    average_rate: Ratio | None = None
    sample_aspect: Ratio | None = None
    rotation: int = 0
    matrix: int = 2
    primaries: int = 2
    transfer: int = 2
    range: int = 0
    start: int | None = None
    frames: int | None = None


class Rules(Value, frozen=True):
    """What a worker is told of the run's rules; see PipelineSpec.

    ``batch`` is the largest batch that the ring and the device have room for; 0 for any. ``holds``
    is how many frames the stage may keep back in this ring; None for as many as it says.
    """

    retries: int = 0
    on_failure: OnFailure = "fail"
    no_face_for: float = 0.0
    batch: int = 0
    holds: int | None = None
    live: bool = False
    max_latency: float = 0.0
    ttl: float = 0.0


class MediaInfo(Value, frozen=True):
    """An input as probed: container, the picture stream, and every other stream.

    ``zero`` is when a live input's time stamp 0 was, in nanoseconds of the monotonic clock.
    """

    path: str
    container: str
    video: VideoInfo
    streams: tuple[StreamInfo, ...] = ()
    duration: float | None = None
    size: int = 0
    metadata: dict[str, str] = {}
    chapters: int = 0
    zero: int | None = None


class Job(Value, frozen=True):
    """One run of the pipeline over one input.

    ``sound`` is a descriptor in live runs, else -1: the source sends packets of sound into it, and
    the sink gets them out of it (mpflow.media.sound). Whoever is given it does not close it.
    """

    spec: JobSpec
    media: MediaInfo
    sound: int = -1


class SourceSummary(Value, frozen=True):
    """What the source read: frames given on, packets and frames it had to skip, frames expected.

    ``missed`` pictures of a live input came while there was no room for them.
    """

    frames: int
    damaged: int = 0
    expected: int | None = None
    stopped: bool = False
    warnings: tuple[str, ...] = ()
    missed: int = 0


class SinkSummary(Value, frozen=True):
    """What the sink wrote: frames, bytes, the file, whether it is whole, and its warnings.

    ``faces`` counts every sighting on the frames that came, ``frames_with_faces`` those frames.
    ``ledger`` and ``latency`` are added by the pipeline.
    """

    frames: int
    path: str = ""
    size: int = 0
    complete: bool = True
    playable: bool = True
    warnings: tuple[str, ...] = ()
    faces: int = 0
    frames_with_faces: int = 0
    ledger: LedgerSummary | None = None
    latency: Latency | None = None
