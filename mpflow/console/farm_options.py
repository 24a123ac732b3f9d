"""The flags of ``mpflow plan``, ``render`` and ``concat``; what they share with ``run`` is its."""

from __future__ import annotations

import click

from mpflow.console.giving import F, give
from mpflow.console.options import FILE, MOST_WORKERS, of_run
from mpflow.errors import ConfigError

EXIT_CODES = """\b
Exit status:
  0    done, or there was nothing left to do
  1    internal error, or chunks failed for different reasons
  2    wrong usage, configuration, plan file or output
  3    input missing or unreadable
  4    refused: another input, other settings or another version than
       planned; chunks missing or foreign
  5    finished, but frames were damaged or skipped (with strict)
  6    not enough disk, shared memory or memory
  130  stopped by Ctrl-C; 143 by SIGTERM or SIGHUP: run it again"""

_NOT_OF_A_PLAN = {"no", "yes", "recursive", "dry_run", "resume"} | {
    "log_file",
    "report",
    "tokens",
    "trace",
    "name",
    "metrics",
    "alert_p99",
    "ladder",
    "degrade",
}
"""Flags that are about one run, or have another meaning here."""

_OF_A_MACHINE = {"memory", "offline", "as_json", "log_level", "log_file"} | {
    "report",
    "tokens",
    "trace",
}


def _chunk_number(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> int | None:
    """The number of a chunk as it was typed; raises ConfigError that says what is accepted."""
    if value is None:
        return None
    text = value.strip()
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(
            f"--chunk {value!r} is not the number of a chunk",
            cure="write for example --chunk 3, counted from 0, or --chunks 0-3,7 for several",
        )
    return int(text)


_PLAN = (
    click.option("-y", "yes", is_flag=True, help="Start anew where there is a plan or an output."),
    click.option(
        "--chunk-frames", type=click.IntRange(1), metavar="N", help="Length of a chunk in frames."
    ),
    click.option(
        "--chunk-seconds",
        type=click.FloatRange(0, min_open=True),
        metavar="S",
        help="Length of a chunk in seconds of the video.  [default: 60]",
    ),
    click.option(
        "--chunks", type=click.IntRange(1), metavar="N", help="How many chunks, nearly equal."
    ),
    click.option(
        "--plan", "file", type=FILE, help="The plan's file.  [default: OUTPUT.parts/plan.json]"
    ),
    click.option(
        "--analyse",
        is_flag=True,
        help="Follow faces through the whole input now, so that chunks have the tracks of one run.",
    ),
    click.option(
        "--relative",
        is_flag=True,
        help="Note paths relative to the plan's folder: the share has other places elsewhere.",
    ),
)

_RENDER = (
    click.argument("file", metavar="PLAN", type=FILE),
    click.option("--chunk", callback=_chunk_number, metavar="K", help="The chunk, from 0."),
    click.option("--chunks", default="", metavar="LIST", help="Several: 0-3,7; 0- is all."),
    click.option(
        "--frames",
        default="",
        metavar="A-B",
        help="The chunks that consist of these frames, both included.",
    ),
)

_WORKERS = click.option(
    "--workers", type=click.IntRange(1, MOST_WORKERS), help="Processes that detect faces."
)

_CONCAT = (
    click.argument("file", metavar="PLAN", type=FILE),
    click.option("-y", "yes", is_flag=True, help="Overwrite an output that exists."),
    click.option(
        "--keep-parts/--remove-parts",
        default=True,
        show_default=True,
        help="Whether chunks and plan stay when the output is whole.",
    ),
)


def plan_options(command: F) -> F:
    """Give a command the flags of ``plan``."""
    return give(command, [*of_run(but=_NOT_OF_A_PLAN), *_PLAN])


def render_options(command: F) -> F:
    """Give a command the flags of ``render``."""
    return give(command, [*_RENDER, _WORKERS, *of_run(only=_OF_A_MACHINE)])


def concat_options(command: F) -> F:
    """Give a command the flags of ``concat``."""
    return give(command, [*_CONCAT, *of_run(only={"as_json", "log_level"})])
