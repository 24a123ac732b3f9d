"""The flags of ``mpflow run`` and the text about its exit status."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from mpflow.console.covering import COVERING, SPANS
from mpflow.console.giving import F, give
from mpflow.console.people import PEOPLE
from mpflow.console.steering_options import STEERING
from mpflow.console.swapping import SWAPPING

EXIT_CODES = """\b
Exit status:
  0    done, or skipped as -n asks; frames that were masked, passed, dropped or
       damaged are named, and an error only with --strict
  1    internal error, no frame left (all dropped), or inputs of a batch
       failed for different reasons
  2    wrong usage, configuration or output
  3    input missing or unreadable
  4    refused by policy
  5    finished, but frames were damaged, missing, or not delivered as asked:
       masked, passed or dropped (with --strict)
  6    not enough disk, shared memory or memory
  130  stopped by Ctrl-C; 143 by SIGTERM or SIGHUP. What is done so far is
       playable and named NAME.partial.EXT; --resume goes on with it.
  141  standard output was closed by its reader, as in mpflow ... | head"""

LOG_LEVELS = click.Choice(["debug", "info", "warning", "error"])
ON_FAILURE = click.Choice(["mask", "pass", "skip", "fail"])
FILE = click.Path(path_type=Path, dir_okay=False)
MOST_WORKERS = 32


def _workers(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> int | str | None:
    """A number of workers, or ``auto``."""
    if value is None or value == "auto":
        return value
    number = int(value) if value.isdecimal() else 0
    if not 1 <= number <= MOST_WORKERS:
        raise click.BadParameter(f"{value!r} is neither auto nor a number from 1 to {MOST_WORKERS}")
    return number


_RUN = (
    click.argument("paths", nargs=-1, metavar="[INPUT]..."),
    click.option(
        "-i",
        "--input",
        "inputs",
        multiple=True,
        metavar="PATH",
        help="A video, a folder of videos, or a URL; may be given more than once.",
    ),
    click.option(
        "-o",
        "--output",
        default="",
        metavar="PATH",
        help="The result: a file, or a folder for several inputs (made if missing); - is "
        "standard output, for faces. Default: NAME.redacted.EXT (NAME.swapped.EXT) beside the "
        "input.",
    ),
    click.option("-y", "yes", is_flag=True, help="Overwrite outputs that exist."),
    click.option(
        "-n", "no", is_flag=True, help="Never overwrite: an input whose output exists is skipped."
    ),
    click.option(
        "-r",
        "--recursive",
        is_flag=True,
        help="Look into folders below an input folder, and mirror them in the output.",
    ),
    click.option(
        "--resume",
        is_flag=True,
        help="Go on with what an earlier run left (NAME.EXT.parts); finished outputs are skipped.",
    ),
    click.option(
        "--frames",
        metavar="FIRST-LAST",
        help="Only these frames of each input, counted from 0, both ends included.",
    ),
    click.option("--start-frame", type=click.IntRange(0), metavar="N", help="The first frame."),
    click.option("--end-frame", type=click.IntRange(0), metavar="N", help="The last frame."),
    click.option(
        "--preset",
        default="redact",
        envvar="MPFLOW_PRESET",
        show_default=True,
        help="What to do: see `mpflow presets list`, or a YAML file of your own.",
    ),
    *PEOPLE,
    *COVERING,
    SPANS,
    *SWAPPING,
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Override any key, for example detect.size=640x384.",
    ),
    click.option("--config", type=FILE, envvar="MPFLOW_CONFIG", help="A YAML file with keys."),
    click.option("--codec", help="Video encoder, for example libx264, libx265, libsvtav1, ffv1."),
    click.option("--crf", type=float, help="Quality on the encoder's own scale; lower is better."),
    click.option("--encoder-preset", help="The encoder's speed preset, for example veryfast."),
    click.option(
        "--encoder-option",
        "encoder_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="Any further option of the encoder.",
    ),
    click.option(
        "--keep-streams/--no-keep-streams",
        default=None,
        help="Keep picture streams that are not worked on, such as cover art.",
    ),
    click.option(
        "--keep-metadata/--no-keep-metadata",
        default=None,
        help="Keep tags that may tell of people, places and devices.",
    ),
    click.option("--device", metavar="auto|cpu|cuda:N", help="Where models run."),
    click.option(
        "--workers",
        callback=_workers,
        metavar="N|auto",
        help="Processes that detect faces: a number from 1 to 32, or auto, as the load asks.",
    ),
    click.option(
        "--memory", type=click.IntRange(1), metavar="MIB", help="Shared memory for frames, at most."
    ),
    click.option(
        "--strict/--no-strict",
        default=None,
        help="Exit with 5 when any frame was damaged or not delivered as asked.",
    ),
    click.option(
        "--on-failure",
        type=ON_FAILURE,
        help="What becomes of a frame that a stage fails on: cover it whole, leave it as it is, "
        "leave it out, or end the run.  [default: mask to hide people, else fail]",
    ),
    click.option(
        "--on-alert",
        metavar="COMMAND",
        help="A command that gets alerts as JSON on its standard input.",
    ),
    click.option(
        "--core-dumps/--no-core-dumps",
        default=None,
        help="Let a crashed worker leave a core dump, which holds pictures.",
    ),
    click.option(
        "--sidecar/--no-sidecar",
        default=None,
        help="Write NAME.EXT.mpflow.json beside a redacted video: what was done to it, by which "
        "models, and the hashes of input and output.  [default: sidecar]",
    ),
    *STEERING,
    click.option("--offline/--no-offline", default=None, help="Never use the network."),
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Progress and results as JSON lines on standard output.",
    ),
    click.option(
        "--log-level",
        type=LOG_LEVELS,
        help="Least level of log lines shown and kept.  [default: warning shown, info kept]",
    ),
    click.option(
        "--log-file",
        type=FILE,
        envvar="MPFLOW_LOG_FILE",
        help="Keep the log of all processes here, as JSON lines.",
    ),
    click.option(
        "--report", type=FILE, help="Write what was done, where and how fast here, as JSON."
    ),
    click.option(
        "--trace",
        default="",
        metavar="PATH",
        help="Write a timeline of all workers, for Perfetto: a file, or a folder for several "
        "inputs.",
    ),
    click.option(
        "--tokens",
        default="",
        metavar="PATH",
        help="Write what was done to each frame, a JSON line each: a file, or a folder.",
    ),
    click.option(
        "--dry-run", is_flag=True, help="Show the jobs and the resolved configuration; do nothing."
    ),
)


def run_options(command: F) -> F:
    """Give a command the arguments and flags of ``mpflow run``; they fill an Arguments."""
    return give(command, _RUN)


def of_run(*, only: set[str] | None = None, but: Iterable[str] = ()) -> list[Callable[[Any], Any]]:
    """Flags of ``run``, in its order, as decorators."""
    run = click.command()(run_options(lambda: None))
    wanted = [
        parameter
        for parameter in run.params
        if parameter.name not in but and (only is None or parameter.name in only)
    ]
    return [_adding(parameter) for parameter in wanted]


def _adding(parameter: click.Parameter) -> Callable[[F], F]:
    def add(command: F) -> F:
        # click keeps the parameters of a function here until it becomes a command
        params: list[click.Parameter] = command.__dict__.setdefault("__click_params__", [])
        params.append(parameter)
        return command

    return add
