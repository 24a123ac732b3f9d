"""An audit from its two files to its report: two pipelines side by side, and this process between.

    Pipeline(input)  --+                              +--> report
                       +-> paired -> Examination -----+
    Pipeline(output) --+                              +--> shots for the sheet

The detectors and the tracker run in workers of the engine; this process compares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from fractions import Fraction
from itertools import chain
from pathlib import Path

from mpflow.audit.conclusion import Basis, Result, conclude
from mpflow.audit.examination import Examination, Rules, View
from mpflow.audit.eyes import Eyes
from mpflow.audit.looking import looking_at_input, looking_at_output
from mpflow.audit.pairing import paired, shift, tolerance
from mpflow.audit.placing import Canvas
from mpflow.audit.report import FileFacts, ModelFacts, Timing
from mpflow.audit.wish import EMBEDDER, FIRST, SECOND, Wish
from mpflow.errors import InputError
from mpflow.frame import Frame
from mpflow.media.probe import probe
from mpflow.models.detectors import detector
from mpflow.models.fetch import sha256_of
from mpflow.models.sessions import open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore
from mpflow.pipeline import Pipeline
from mpflow.showing import Clock, frames_of
from mpflow.spec import REDACTED, REDACTED_IN_PART, Job, JobSpec, MediaInfo
from mpflow.tokens import Token

_ROLES = {
    "detector of the input": FIRST,
    "detector of the output": SECOND,
    "embedder": EMBEDDER,
}

_FAINTEST = 0.05  # least score that an enlarged look gives at all

Item = tuple[Token, Frame]
Both = tuple[MediaInfo, MediaInfo]
Progress = Callable[[int, int | None], None]


def audit(
    wish: Wish,
    progress: Progress = lambda frames, total: None,
    told: Callable[[str], None] = lambda text: None,
) -> Result:
    """Look at every frame of both files; raises MpflowError for what cannot be looked at.

    ``progress`` hears how many frames were compared, of how many if that is known; ``told`` what
    takes time before.
    """
    media = probe(str(wish.source)), probe(str(wish.target))
    wish.spans.check(str(wish.source), frames_of(media[0]), media[0].duration)
    store = ModelStore(offline=wish.offline)
    eyes = _eyes(wish, store.pull(_ROLES.values(), told))
    canvases = Canvas.of(media[0].video), Canvas.of(media[1].video)
    examination = Examination(eyes, canvases, Rules.of(wish))
    pipelines = Pipeline(looking_at_input(wish)), Pipeline(looking_at_output(wish))
    with ExitStack() as stack:
        walks = [iter(stack.enter_context(pipeline)) for pipeline in pipelines]
        timing = _compare(wish, examination, media, (walks[0], walks[1]), progress)
    source = _file(wish.source, media[0], pipelines[0])
    target = _file(wish.target, media[1], pipelines[1])
    return conclude(examination, Basis(wish, source, target, _models(store), timing))


def _eyes(wish: Wish, paths: Mapping[str, Path]) -> Eyes:
    sessions = {
        name: open_session(paths[name], device=wish.device)[0] for name in (SECOND, EMBEDDER)
    }
    return Eyes(SFace(sessions[EMBEDDER]), detector(SECOND, sessions[SECOND], score=_FAINTEST))


def _compare(
    wish: Wish,
    examination: Examination,
    media: Both,
    walks: tuple[Iterator[Item], Iterator[Item]],
    progress: Progress,
) -> Timing:
    """Walk through both files side by side."""
    one, other = next(walks[0], None), next(walks[1], None)
    if one is None or other is None:
        raise InputError("there is no frame to compare", cure="check that both files play")
    rate = _rate(media[0])
    ahead = shift(_time(one), _time(other), rate, _lacking(wish, media))

    def shifted(item: Item) -> float:
        return _time(item) - ahead

    counts: Counter[str] = Counter()
    views = Views(wish, media[0], ahead)
    inputs, outputs = chain([one], walks[0]), chain([other], walks[1])
    pairs = paired(inputs, outputs, (_time, shifted), tolerance(rate))
    for number, (before, after) in enumerate(pairs, start=1):
        if before is not None and after is not None:
            examination.pair(views.of_input(before), views.of_output(after))
            counts["paired"] += 1
            counts["tail"] = 0
        elif after is not None:
            examination.extra(views.of_output(after))
            counts["extra"] += 1
        else:
            counts["lacking"] += 1
            counts["tail"] += 1
        progress(number, media[1].video.frames)
    given = {name: counts[name] for name in ("paired", "lacking", "extra", "tail")}
    order, lag = examination.order.found
    return Timing(**given, shift=ahead, order=order, lag=lag)


class Views:
    """Frames as an examination takes them; all times count from the input's first frame."""

    def __init__(self, wish: Wish, source: MediaInfo, ahead: float) -> None:
        self._spans = wish.spans
        self._clock = Clock.of(Job(JobSpec("audit", str(wish.source), start=wish.start), source))
        self._lag = float(self._clock.time) + ahead

    def of_input(self, item: Item) -> View:
        """A frame of the input."""
        token, frame = item
        shown = self._clock.on_show(token)
        time = float(shown[1] or 0)
        return View(shown[0], time, frame, token.faces, asked=self._spans.hold(*shown))

    def of_output(self, item: Item) -> View:
        """A frame of the output; one that stands alone is to be covered whatever its time."""
        token, frame = item
        return View(token.seq, _time(item) - self._lag, frame, token.faces)


def _time(item: Item) -> float:
    return item[0].time or 0.0


def _rate(media: MediaInfo) -> float:
    return float(Fraction(*media.video.average_rate)) if media.video.average_rate else 0.0


def _lacking(wish: Wish, media: Both) -> int | None:
    """How many frames fewer the output has, where both files say."""
    whole, made = (each.video.frames for each in media)
    if whole is None or made is None:
        return None
    return min(whole, wish.stop or whole) - wish.start - made


def _file(path: Path, media: MediaInfo, pipeline: Pipeline) -> FileFacts:
    width, height = Canvas.of(media.video).shown
    report = pipeline.report
    frames, damaged = (0, 0) if report is None else (report.frames_written, report.damaged)
    return FileFacts(
        str(path),
        sha256_of(path),
        media.size,
        width,
        height,
        frames,
        damaged,
        _beside(media),
        redacted=_is_redacted(media),
    )


def _is_redacted(media: MediaInfo) -> bool:
    """Whether a file's comment says that it was redacted."""
    notes = (REDACTED, REDACTED_IN_PART)
    return any(note in value for value in media.metadata.values() for note in notes)


def _beside(media: MediaInfo) -> int:
    """How many picture streams there are that nobody looks at."""
    return sum(each.kind == "video" and each.index != media.video.index for each in media.streams)


def _models(store: ModelStore) -> tuple[ModelFacts, ...]:
    entry = store.manifest.entry
    return tuple(ModelFacts(role, name, entry(name).final_sha256) for role, name in _ROLES.items())
