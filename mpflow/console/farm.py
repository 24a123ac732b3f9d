"""``mpflow plan`` and ``mpflow concat``: the steps of a farm that encode nothing.

plan    standard output: the number of chunks; with --json one line:
        plan, input, output, parts, frames, chunks, ranges, repeated
concat  with --json one line: output, frames, ledger, size, chunks, repeated
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mpflow.accounts import LedgerSummary, counted
from mpflow.console.arguments import Arguments
from mpflow.console.course import Course
from mpflow.console.facewords import found_words, ledger_words
from mpflow.console.lost import lost_lines
from mpflow.console.stops import Stops
from mpflow.console.supervisors import Supervisors
from mpflow.console.text import say, size
from mpflow.errors import ConfigError, OutputError

if TYPE_CHECKING:
    from mpflow.config import Resolved
    from mpflow.farm.draw import Drawn
    from mpflow.farm.plan import Plan
    from mpflow.farm.split import Split
    from mpflow.spec import JobSpec, SinkSummary


def plan(
    arguments: Arguments,
    split: Split,
    file: Path | None,
    *,
    relative: bool,
    analyse: bool,
) -> int:
    """Plan one input and say what a farm manager needs to know; returns the exit status."""
    from mpflow.console.notice import tell_once
    from mpflow.farm.draw import Wish, draw

    arguments.check()
    split.check()
    with Stops() as stops:  # a signal is an error here, which cleans up on its way
        resolved = arguments.resolve()
        job = _one_job(arguments, resolved)
        tell_once(resolved, accepted=arguments.accept_notice)
        wish = Wish(split, job.start, job.stop, file, relative, arguments.yes, analyse)
        drawn = draw(job, resolved.spec, wish, warn)
        if status := _analyse(drawn.plan, arguments, stops):
            return status
    if arguments.as_json:
        click.echo(json.dumps({"event": "plan", **_as_data(drawn)}, ensure_ascii=False))
    else:
        say(_in_words(drawn))
        click.echo(len(drawn.plan.chunks))
    return 0


def concat(file: Path, *, yes: bool, keep_parts: bool, as_json: bool) -> None:
    """Join the chunks of a plan and say what came of it."""
    from mpflow.farm.concat import Concat
    from mpflow.farm.concat import concat as join
    from mpflow.farm.plan import load

    with Stops():
        the_plan = load(file)
        summary = join(the_plan, file, Concat(yes, remove_parts=not keep_parts), warn)
    count = len(the_plan.chunks)
    if as_json:
        facts = {
            "output": the_plan.output,
            "frames": None if summary is None else summary.frames,
            "ledger": None if summary is None else msgspec.to_builtins(summary.ledger),
            "size": Path(the_plan.output).stat().st_size,
            "chunks": count,
            "repeated": summary is None,
        }
        click.echo(json.dumps({"event": "concat", **facts}, ensure_ascii=False))
    elif summary is None:
        say(f"mpflow: {the_plan.output}: it is joined already")
    else:
        say(f"{the_plan.output}: {_joined(summary, count)}")
        for line in lost_lines(summary.ledger, "--json has a line about each of them"):
            say(f"  {line}")
        if keep_parts:
            say(f"  the chunks are kept in {the_plan.parts}; --remove-parts removes them")


def _analyse(plan: Plan, arguments: Arguments, stops: Stops) -> int:
    """Analyse the input of a plan that asks for it, unless that was done; the exit status."""
    from mpflow.farm.analyse import (
        analysing_job,
        analysing_pipeline,
        frames_analysed,
        hand_out,
        is_analysed,
    )
    from mpflow.farm.render import resolved_of
    from mpflow.jobs import Planned

    if not plan.analysed or is_analysed(plan):
        return 0
    resolved = resolved_of(analysing_pipeline(plan), "plan")
    quiet = replace(arguments, as_json=False, report=None)
    with Supervisors() as supervisors:
        course = Course(quiet, stops, supervisors)
        status, outcomes, display = course.run([Planned(analysing_job(plan))], resolved)
    display.finished(outcomes, status)
    if not status:
        hand_out(plan)
    elif frames := frames_analysed(plan):
        say(f"mpflow: {counted(frames, 'frame')} analysed; the same words go on from there")
    return status


def _joined(summary: SinkSummary, count: int) -> str:
    parts = [f"{counted(summary.frames, 'frame')} from {counted(count, 'chunk')}"]
    ledger = summary.ledger or LedgerSummary()
    if summary.faces:
        parts.append(found_words(summary, ledger))
    parts.extend([size(summary.size), *ledger_words(ledger)])
    return ", ".join(parts)


def warn(text: str) -> None:
    """A warning of a stage that runs in this process."""
    say(f"mpflow: warning: {text}")


def _one_job(arguments: Arguments, resolved: Resolved) -> JobSpec:
    """The job to plan: one input, an output that is not there yet."""
    from mpflow.jobs import jobs_of

    jobs = jobs_of(replace(arguments.request(resolved), overwrite="yes"))
    if len(jobs) != 1:
        raise ConfigError(
            f"a plan is for one input, not {len(jobs)}", cure="make one for each of them"
        )
    (job,) = jobs
    if Path(job.output).exists() and not arguments.yes:
        raise OutputError(
            f"{job.output!r} exists already",
            cure="-y plans to overwrite it, and removes what an earlier plan has made",
        )
    return job


def _as_data(drawn: Drawn) -> dict[str, Any]:
    from mpflow.farm.numbers import as_text

    plan = drawn.plan
    return {
        "plan": str(drawn.file),
        "input": plan.input,
        "output": plan.output,
        "parts": plan.parts,
        "frames": as_text(plan.start, plan.stop),
        "chunks": len(plan.chunks),
        "ranges": [as_text(*chunk) for chunk in plan.chunks],
        "repeated": drawn.repeated,
    }


def _in_words(drawn: Drawn) -> str:
    from mpflow.farm.numbers import as_text

    plan = drawn.plan
    lengths = [stop - start for start, stop in plan.chunks]
    longest, last = max(lengths), lengths[-1]
    uneven = f", the last one {last}" if last != longest else ""
    count = f"{counted(len(lengths), 'chunk')} of {counted(longest, 'frame')}{uneven}"
    again = " as before" if drawn.repeated else ""
    frames = as_text(plan.start, plan.stop)
    return f"mpflow: {drawn.file}: {count}{again}, for frames {frames} of {plan.input}"
