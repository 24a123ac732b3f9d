"""The one job of a live run: a stream in, a stream out, and no second try for either.

There is no partial name and there are no parts: what has left has left. All that names alone can
tell is found here, before a process is started.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from mpflow.errors import ConfigError, OutputError, Refused
from mpflow.importer import stage_class
from mpflow.jobs.conflicts import Confirm, Planned, check_apart, settle_existing
from mpflow.jobs.endpoints import check_input, check_output, is_file
from mpflow.jobs.sidefiles import refuse_foreign, with_side_files
from mpflow.spec import STDOUT, JobSpec, PipelineSpec
from mpflow.urls import is_url, shown


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """What a user asks for.

    ``overwrite`` replaces an output file that exists. ``listens`` says that the input waits for
    somebody to connect, ``named_format`` that the output's container is told besides its name.
    ``tokens`` and ``trace`` are a file or a folder, ``preview`` is where pictures of the output go,
    ``written`` are files that the run writes besides.
    """

    input: str
    output: str
    overwrite: bool = False
    listens: bool = False
    named_format: bool = False
    tokens: str = ""
    trace: str = ""
    preview: str = ""
    written: Sequence[str] = ()


def plan_live(request: LiveRequest, confirm: Confirm | None = None) -> Planned:
    """The job; raises InputError, OutputError or ConfigError for what cannot be.

    ``confirm`` is called for an output file that exists; without it that is an error.
    """
    check_input(request.input, listens=request.listens)
    check_output(request.output, named_format=request.named_format)
    job = JobSpec(
        "1",
        request.input,
        request.output,
        # a worker's own standard output is a log, so it has to be told where the caller's is
        partial=f"/proc/{os.getpid()}/fd/1" if request.output == STDOUT else "",
        live=True,
        preview=os.path.abspath(request.preview) if request.preview else "",  # noqa: PTH100
    )
    (planned,) = with_side_files([Planned(job)], "tokens", request.tokens, "")
    (planned,) = with_side_files([planned], "trace", request.trace, "")
    _check_ends(planned, request.written)
    if not request.overwrite:
        refuse_foreign([planned], "choose another name; -y overwrites it")
    if not is_file(request.output):
        return planned
    (planned,) = settle_existing([planned], "yes" if request.overwrite else "ask", confirm)
    if planned.skipped:
        raise OutputError(f"{request.output!r} exists already", cure="choose another name, or -y")
    return planned


def check_live(spec: PipelineSpec, output: str, *, to_terminal: bool = False) -> None:
    """Raise ConfigError for a preset that is not for streams, OutputError where its last stage can
    only write lines, as to standard output, and ``output`` is something else, or where it writes
    no lines and standard output is a terminal."""
    first, last = spec.stages[0], spec.stages[-1]
    source, sink = stage_class(first.target), stage_class(last.target)
    writes_lines = bool(getattr(sink, "suffix", ""))
    if not (spec.live and source.live and (sink.live or writes_lines)):
        odd = first if not source.live else last
        raise ConfigError(
            f"preset {spec.preset!r} is not for live runs"
            + (f": {odd.name} is no end of one" if spec.live else ""),
            cure="--preset live-redact covers faces; one of your own has `live: true`, begins with"
            " receive, and ends with send",
        )
    if not sink.live and output != STDOUT:
        raise OutputError(
            f"{last.name} writes a live run to standard output only", cure="-o - > faces.jsonl"
        )
    if sink.live and output == STDOUT and to_terminal:
        raise OutputError(
            "standard output is a terminal, which shows no video",
            cure="give it to a player, -o - | ffplay -f nut -, or name a file",
        )


def check_on_line(spec: PipelineSpec, planned: Planned) -> None:
    """Raise Refused for a network end under ``offline``."""
    for end in (planned.job.input, planned.job.output):
        if spec.offline and is_url(end):
            raise Refused(f"{shown(end)!r} is on the network", cure="leave out --offline")


def _check_ends(planned: Planned, written: Sequence[str]) -> None:
    job = planned.job
    if job.input == job.output:
        raise OutputError(
            f"{shown(job.input)!r} is both the input and the output", cure="choose another output"
        )
    check_apart([planned], written)
