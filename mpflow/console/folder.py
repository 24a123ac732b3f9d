"""A folder of photos on the command line, and what to do about a name that is none."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mpflow.errors import ConfigError

ANY = click.Path(path_type=Path)
"""The type of such an option; ``folder`` is its callback."""


def folder(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """The folder that was given; raises ConfigError for what is none, or cannot be read."""
    flag = option.opts[0]
    if path is None:
        return None
    if not path.exists():
        raise ConfigError(f"{flag}: there is no folder {str(path)!r}", cure="check the path")
    if not path.is_dir():
        raise ConfigError(
            f"{flag} {str(path)!r} is a file, and it takes a folder",
            cure="put the photo into a folder of its own, and name that",
        )
    if not os.access(path, os.R_OK | os.X_OK):
        raise ConfigError(f"{flag} {str(path)!r} cannot be read", cure="check its rights")
    return path
