"""Names of pictures that a run writes when it is asked for one."""

from __future__ import annotations

from pathlib import Path

from mpflow.errors import ConfigError

PICTURES = (".png", ".jpg", ".jpeg")
"""How they end."""


def require_picture(path: str, flag: str = "") -> None:
    """Raise ConfigError for a name that is no picture's, or whose folder does not exist."""
    named = f"{flag} {path!r}" if flag else repr(path)
    if Path(path).suffix.lower() not in PICTURES:
        raise ConfigError(f"{named} is no picture's name", cure="end it in .png or .jpg")
    if not Path(path).absolute().parent.is_dir():
        raise ConfigError(f"the folder of {path!r} does not exist", cure="create it")
