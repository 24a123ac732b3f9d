"""How a run is called, watched, and kept going under load: the flags that ``run`` and ``live``
share."""

from __future__ import annotations

import click

STEERING = (
    click.option(
        "--name",
        metavar="NAME",
        help="What `mpflow top` and `mpflow ctl` may call the run.",
    ),
    click.option(
        "--metrics",
        metavar="HOST:PORT",
        help="Serve metrics for Prometheus, and /health, there while the run goes on.",
    ),
    click.option(
        "--alert-p99",
        type=click.FloatRange(0, min_open=True),
        metavar="MS",
        help="Alert when one frame in a hundred is older than so many milliseconds at its output.",
    ),
    click.option(
        "--ladder",
        multiple=True,
        metavar="RUNG",
        help="What to give up under load, in order: STAGE.OPTION=VALUE, or 'skip STAGE'; may be "
        "given more than once.",
    ),
    click.option(
        "--degrade",
        type=click.Choice(["live", "always", "never"]),
        help="In which runs the ladder may be climbed.  [default: live]",
    ),
)
