"""Opening an input, with every way it can fail said in a sentence that names the cure."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import av
from av.container import InputContainer

from mpflow.errors import InputError
from mpflow.urls import is_url, shown

# Demuxers that accept plain text and make a picture or a song sheet of it.
_TEXT_FORMATS = frozenset({"tty", "lrc", "srt", "ass", "webvtt", "microdvd", "subviewer"})


def ffmpeg_name(path: str) -> str:
    """The name FFmpeg is given.

    ``file:`` keeps a colon from being read as a protocol, and an absolute path keeps a leading
    dash from being anything but a name.
    """
    return path if is_url(path) else f"file:{Path(path).absolute()}"


def open_input(path: str) -> InputContainer:
    """Open an input for demuxing; raises InputError."""
    if not is_url(path):
        _check_file(path)
    try:
        container = av.open(ffmpeg_name(path), "r", metadata_errors="replace")
    except av.FFmpegError as error:
        raise _explain(path, error) from error
    if container.format.name in _TEXT_FORMATS and not container.streams.audio:
        container.close()
        raise InputError(f"{path!r} is a text file, not a video", cure="give a video file")
    return container


def explain_read(path: str, error: av.FFmpegError, what: str = "read") -> InputError:
    """An error on the way; a server is asked for the end of a file first, which few forbid."""
    if not is_url(path):
        cure = "check that it plays"
    elif error.errno == errno.EIO or isinstance(error, av.InvalidDataError):
        cure = "the server may not allow seeking: download the file first"
    else:
        cure = "check the address"
    return InputError(f"{shown(path)!r} cannot be {what}: {error.strerror}", cure=cure)


def _check_file(path: str) -> None:
    """Say what is wrong with a file before FFmpeg says it in its own words."""
    try:
        status = Path(path).stat()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path!r}", cure="check the path") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path!r} cannot be looked at: {error}", cure="check the path") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path!r} is a directory", cure="give a video file inside it")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            f"{path!r} is a pipe or a device, which cannot be read twice",
            cure="save it to a file first",
        )
    if status.st_size == 0:
        raise InputError(f"{path!r} is empty (0 bytes)", cure="copy or record it again")


def _explain(path: str, error: av.FFmpegError) -> InputError:
    """Turn FFmpeg's error into one about the input."""
    name = shown(path)
    if is_url(path):
        return explain_read(path, error, "opened")
    if isinstance(error, PermissionError):
        return InputError(f"{name!r} may not be read", cure="give yourself permission to read it")
    if isinstance(error, av.InvalidDataError):
        return InputError(
            f"{name!r} is not a media file, or its index is cut off",
            cure="check that it plays; a recording that was cut off needs repair first",
        )
    return InputError(f"{name!r} cannot be opened: {error.strerror}", cure="check the input")
