"""One picture of a running stream, for somebody to look at."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

import cv2

from mpflow.errors import ConfigError
from mpflow.frame import Frame
from mpflow.media.output import output_error
from mpflow.pictures import PICTURES


def write_picture(frame: Frame, path: str | Path) -> None:
    """Write a frame as PNG or JPEG, whole or not at all, readable by its owner only.

    Raises ConfigError for another kind of file, OutputError or ResourceError where it cannot be
    written.
    """
    target = Path(path)
    if target.suffix.lower() not in PICTURES:
        raise ConfigError(f"{str(target)!r} is no picture's name", cure="end it in .png or .jpg")
    pixels, _ = frame.bgr((0.0, 0.0, float(frame.width), float(frame.height)))
    done, data = cv2.imencode(target.suffix.lower(), pixels)
    assert done, "OpenCV codes any picture of bytes"
    try:
        _replace(target, data.tobytes())
    except OSError as error:
        raise output_error(target, error) from error


def _replace(target: Path, data: bytes) -> None:
    """Give a file its name only when it is whole. mkstemp makes it the owner's alone (0600)."""
    descriptor, name = mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
