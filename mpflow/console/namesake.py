"""Two runs of one name: told of before the second begins."""

from __future__ import annotations

from mpflow.console.text import say
from mpflow.control import runs


def warn_of_namesake(name: str) -> None:
    """Say that another run has this name already. It is no error: what is started anew may find the
    run that it replaces still there."""
    if name and any(run.name == name for run in runs()):
        say(
            f"mpflow: warning: another run is called {name}, too: as long as both are there, top"
            " and ctl need the id (mpflow ctl lists them)"
        )
