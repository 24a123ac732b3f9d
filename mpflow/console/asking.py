"""Asking the user, where there is one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpflow.jobs.conflicts import Confirm


def confirm_on_terminal(*, as_json: bool) -> Confirm | None:
    """Ask about an output that exists, where there is somebody to ask."""
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    import click

    return lambda path: click.confirm(f"{path} exists already. Overwrite?", err=True)
