"""``mpflow faces``: the flags of its own, and a run of the preset with what they say.

What it shares with ``run`` is its.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from mpflow.console.giving import F, give
from mpflow.console.options import of_run
from mpflow.console.stageflags import Flag

PRESET = "faces"

_SHARED = {"paths", "inputs", "yes", "no", "recursive", "resume", "frames", "start_frame"} | {
    *("end_frame", "settings", "config", "device", "workers", "memory", "strict", "on_failure"),
    *("on_alert", "core_dumps", "name", "metrics", "alert_p99", "ladder", "degrade", "offline"),
    *("as_json", "log_level", "log_file", "report", "trace", "tokens", "dry_run"),
}
_KEYS = ("size", "template", "every", "table", "people", "identities")

_OUTPUT = click.option(
    "-o",
    "--output",
    default="",
    metavar="DIR",
    help="The folder for the result, made if missing; for several inputs it gets a folder for "
    "each. Default: NAME.faces beside the input.",
)

_OWN = (
    click.option(
        "--size",
        type=click.IntRange(32, 1024),
        metavar="N",
        help="The side of a crop in pixels.  [default: 256]",
    ),
    click.option(
        "--template",
        type=click.Choice(["arcface", "ffhq"]),
        help="Where the face is in a crop: the face alone, as embedders take it, or with hair and "
        "chin.  [default: ffhq]",
    ),
    click.option(
        "--every",
        type=click.FloatRange(0),
        metavar="S",
        help="One crop of each track every so many seconds, besides its best.",
    ),
    click.option(
        "--table",
        type=click.Choice(["csv", "parquet"]),
        help="The kind of the table of tracks.  [default: csv]",
    ),
    click.option(
        "--people/--no-people", default=None, help="Tell people apart.  [default: people]"
    ),
    click.option(
        "--identities",
        is_flag=True,
        default=None,
        help="Write embeddings too. They are biometric data: `mpflow clean --identities DIR` "
        "removes them.",
    ),
)


def faces_options(command: F) -> F:
    """Give a command the flags of ``faces``."""
    paths, *rest = of_run(only=_SHARED)
    return give(command, [paths, _OUTPUT, *_OWN, *rest])


def run_faces(given: dict[str, Any]) -> int:
    """Run the preset over what was given; returns the exit status."""
    from mpflow.console import runs
    from mpflow.console.arguments import Arguments

    flags = tuple(_flags(given))
    rest = {name: value for name, value in given.items() if name not in _KEYS}
    arguments = Arguments(preset=PRESET, flags=flags, **rest)
    if arguments.dry_run:
        runs.show_plan(arguments)
        return 0
    return runs.run(arguments)


def _flags(given: dict[str, Any]) -> Iterator[Flag]:
    for key in _KEYS:
        if given[key] is not None:
            yield f"{PRESET}.{key}", given[key], f"flag --{key}"
