"""The flags of ``mpflow audit`` and the text about its exit status; some are those of ``run``."""

from __future__ import annotations

from pathlib import Path

import click

from mpflow.console.folder import ANY, folder
from mpflow.console.giving import F, give
from mpflow.console.options import FILE, of_run

EXIT_CODES = """\b
Exit status:
  0    every frame of the output was looked at, and no face shows
  1    internal error
  2    wrong usage or configuration, or a file that cannot be written
  3    input or output missing or unreadable
  5    no face shows, but parts of the output were not seen (damaged, one more picture stream), or
       input and output do not go together: other frames, the same file, swapped
  6    not enough disk, shared memory or memory
  7    a face shows: it is recognisable, visible, unchanged or unexplained
  130  stopped by Ctrl-C; 143 by SIGTERM or SIGHUP"""

_VIDEO = click.Path(path_type=Path)

_AUDIT = (
    click.argument("source", metavar="IN", type=_VIDEO),
    click.argument("target", metavar="OUT", type=_VIDEO),
    click.option(
        "--keep",
        type=ANY,
        callback=folder,
        metavar="DIR",
        help="The people of this gallery may be seen: it is listed, and no failure.",
    ),
    click.option(
        "--only",
        type=ANY,
        callback=folder,
        metavar="DIR",
        help="Whoever is surely none of this gallery may be seen.",
    ),
    click.option(
        "--spans",
        default="",
        metavar="FROM-TO,...",
        help="Faces were to be covered only then, for example 0:05-0:10,1:00- or f120-f240.",
    ),
    click.option(
        "--replaced",
        is_flag=True,
        help="Other faces were put over those of IN: one that has no detail of IN's, and is not "
        "like the person, is listed, and no failure.",
    ),
    click.option(
        "--frames",
        metavar="FIRST-LAST",
        help="OUT was made of these frames of IN, counted from 0.  [default: as OUT's sidecar "
        "says, or all]",
    ),
    click.option(
        "--sheet",
        type=FILE,
        metavar="PNG",
        help="Draw every finding here, input beside output. It shows faces: mode 0600.",
    ),
    click.option("--report", type=FILE, metavar="FILE", help="Write the report here, as JSON."),
    click.option("--json", "as_json", is_flag=True, help="The report as a line of JSON."),
    click.option(
        "--score",
        type=click.FloatRange(0.05, 0.95),
        default=0.2,
        show_default=True,
        help="Least score at which the second detector's finds count.",
    ),
    click.option(
        "--every",
        type=click.FloatRange(0, 60),
        default=0.5,
        show_default=True,
        metavar="S",
        help="Seconds between two looks at whether a face can be recognised; 0 for every frame.",
    ),
    click.option(
        "--size",
        default="auto",
        show_default=True,
        metavar="WxH",
        help="Size of the pictures that are looked at, multiples of 32. A larger one finds smaller "
        "faces.",
    ),
    *of_run(only={"device", "workers", "offline", "log_level"}),
)


def audit_options(command: F) -> F:
    """Give a command the arguments and flags of ``mpflow audit``; they fill AuditArguments."""
    return give(command, _AUDIT)
