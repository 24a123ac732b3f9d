"""What stays of an output that was not finished, and saying so.

A partial file that plays is kept and named, one that does not is removed: whatever ended the run
(an error, a signal, a dead stage, a dead supervisor), nothing is left that is of no use. Of the
folder of parts stays what ``--resume`` can go on with.
"""

from __future__ import annotations

import fcntl
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from mpflow.accounts import LedgerSummary
from mpflow.errors import Degraded, Interrupted, MpflowError, NoFrameLeft, OutputError, Refused
from mpflow.media.chunks import durable, is_done, is_shared, remove_parts
from mpflow.report import Report
from mpflow.session import JobResult
from mpflow.spec import STDOUT, JobSpec

LINES = ".jsonl"
SHOWN_FRAMES = 5
DYING_S, ASK_AGAIN_S = 5.0, 0.02
"""How long a worker whose supervisor is gone may take to be gone too, in seconds."""


def settle(job: JobSpec, result: JobResult, *, strict: bool = False) -> JobResult:
    """The result as the user is told it.

    The partial file of a failed job is kept if it plays, else removed, and the error's cure says
    which. ``strict`` makes it an error (Degraded) of a job that is done when frames were damaged,
    missing, or not delivered as asked. Of a live job nothing is kept or taken back: what has left
    has left.
    """
    if job.live and result.error is None:
        result = replace(result, error=_nothing_delivered(job, result.report))
    if result.error is None:
        _clear_up(job)
        degraded = strict and _is_degraded(result.report)
        return JobResult(result.report, _degraded(result.report)) if degraded else result
    if job.chunk and isinstance(result.error, Interrupted):
        again = "nothing of the chunk was kept: render it again"
        return JobResult(result.report, _completed(result.error, again, named=False))
    if job.live or not job.partial:
        return replace(result, error=_of_no_file(result.error))
    if job.output == STDOUT:
        return result
    partial = Path(job.partial)
    if _belongs_to_another_run(partial, result.error):
        return result
    frames = _frames_in(partial)
    if not frames:
        with suppress(OSError):
            partial.unlink()
    going_on = frames if partial.suffix == LINES else _durable(job)
    if not going_on and job.parts and not isinstance(result.error, Refused):
        _remove(Path(job.parts))
    report = msgspec.structs.replace(
        result.report,
        partial=job.partial if frames else "",
        playable=bool(frames) and partial.suffix != LINES,
    )
    kept = _kept(partial, frames, going_on)
    return JobResult(report, _completed(result.error, kept, named=bool(frames or going_on)))


def _of_no_file(error: MpflowError) -> MpflowError:
    """The error without a word on partial files: a stream has none, nor what has no output."""
    return _completed(error, "", named=False) if isinstance(error, Interrupted) else error


def _clear_up(job: JobSpec) -> None:
    """Remove what the sink left so that it could tell, after a death, that it had finished."""
    if job.parts and not job.chunk and is_done(Path(job.parts)):
        with suppress(OSError):
            remove_parts(Path(job.parts))


def _remove(parts: Path) -> None:
    """Remove parts that nobody can go on with; those of a farm are not this job's."""
    if not is_shared(parts):
        with suppress(OSError):
            remove_parts(parts)


def _durable(job: JobSpec) -> int:
    """Frames in the parts that another run can go on with."""
    if job.parts and not is_shared(Path(job.parts)):
        with suppress(OSError):  # what cannot be read cannot be gone on with
            return max((chunk.stop for chunk in durable(Path(job.parts))), default=0)
    return 0


def _kept(partial: Path, frames: int, going_on: int) -> str:
    """What was kept of an output, in words."""
    said = []
    if frames:
        plays = " and is playable" if partial.suffix != LINES else ""
        first = "the first frame" if frames == 1 else f"the first {frames} frames"
        said.append(f"{str(partial)!r} has {first}{plays}")
    if going_on:
        finished = "1 frame is" if going_on == 1 else f"{going_on} frames are"
        said.append(f"{finished} finished, and --resume goes on with them")
    return "; ".join(said) or "nothing was kept of the output"


def _nothing_delivered(job: JobSpec, report: Report) -> MpflowError | None:
    """The error of a stream of which nobody has seen a frame; None for any other."""
    ledger = report.ledger
    if ledger is None or not ledger.dropped or ledger.dropped < ledger.frames:
        return None
    last = ledger.rows[-1] if ledger.rows else None
    why = f" ({last.stage}: {last.reason})" if last is not None else ""
    what = f"no frame was delivered: all {ledger.frames} were dropped{why}"
    if last is not None and report.stages and last.stage == report.stages[-1].name:
        return OutputError(what, cure=f"start what takes {job.output!r}")
    return NoFrameLeft(what, cure="a larger --max-latency drops less")


def _is_degraded(report: Report) -> bool:
    lost = report.ledger is not None and report.ledger.not_as_asked > 0
    return bool(report.damaged) or lost or _ends_early(report)


def _ends_early(report: Report) -> bool:
    if report.live:
        return False  # a stream is over when it is over
    return report.frames_expected is not None and _frames_of(report) < report.frames_expected


def _frames_of(report: Report) -> int:
    """The frames of the job that came, those of earlier runs that it went on with included."""
    known = 0 if report.ledger is None else report.ledger.frames
    return max(report.frames_read, known)


def _degraded(report: Report) -> Degraded:
    if _ends_early(report):
        what = f"only {_frames_of(report)} of {report.frames_expected} frames of {report.input!r}"
        return Degraded(
            f"{what} could be read",
            cure="the output has what could be read; leave out --strict to accept that",
        )
    if report.ledger is not None and report.ledger.not_as_asked:
        return _not_as_asked(report, report.ledger)
    return Degraded(
        f"{report.damaged} damaged frames or packets of {report.input!r} were skipped",
        cure="the output is whole but for them; leave out --strict to accept that",
    )


def _not_as_asked(report: Report, ledger: LedgerSummary) -> Degraded:
    """Names the first frames, and why the very first was not delivered as asked."""
    first = [str(row.frame) for row in ledger.rows[:SHOWN_FRAMES]]
    more = "" if ledger.not_as_asked == len(first) else " and more"
    damaged = f", {report.damaged} damaged frames or packets skipped" if report.damaged else ""
    why = f"; the first: {ledger.rows[0].reason}" if ledger.rows and ledger.rows[0].reason else ""
    noun = "frame" if ledger.not_as_asked == 1 else "frames"
    return Degraded(
        f"{ledger.words()} of {report.input!r}{damaged} ({noun} {', '.join(first)}{more}{why})",
        cure="leave out --strict to accept that",
        facts={"masked": ledger.masked, "passed": ledger.passed, "dropped": ledger.dropped},
    )


def _belongs_to_another_run(partial: Path, error: MpflowError) -> bool:
    """Whether somebody writes into the partial file: a sink holds a lock on its own.

    Ours has closed it by now, or is about to die with its supervisor, which takes a moment. When
    the error says that the output was refused, a lock is another run's.
    """
    patience = 0.0 if isinstance(error, OutputError) else DYING_S
    deadline = time.monotonic() + patience
    try:
        with partial.open("rb") as file:
            while not _locked(file.fileno()):
                if time.monotonic() >= deadline:
                    return True
                time.sleep(ASK_AGAIN_S)  # no event tells when a lock comes free
    except OSError:
        return False
    return False


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _frames_in(partial: Path) -> int:
    """Frames that can be read from a partial file, by reading it; 0 when it is of no use."""
    with suppress(OSError):
        if partial.stat().st_size == 0:
            return 0
        if partial.suffix == LINES:
            with partial.open("rb") as lines:
                return sum(line.endswith(b"\n") for line in lines)
        from mpflow.media.salvage import playable

        return playable(partial)
    return 0


def _completed(error: MpflowError, kept: str, *, named: bool) -> MpflowError:
    """The same error, with what became of the output where it helps to know."""
    if isinstance(error, Interrupted):
        cure = kept
    elif named:
        cure = f"{error.cure}; {kept}" if error.cure else kept
    else:
        cure = error.cure
    completed = type(error)(error.what, cure=cure, facts=error.facts)
    completed.remote_traceback = error.remote_traceback
    return completed
