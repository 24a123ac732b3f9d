"""The ends of a live run as a user types them: what can be read, what can be written to, and what
to do instead. Nothing is opened here; what only a connection tells comes later.

    rtsp://camera/1   a URL          /dev/video0, v4l2:/dev/video0   a camera, or a loopback one
    clip.mp4          a file         -                               standard output
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from mpflow.errors import ConfigError, InputError, MpflowError, OutputError
from mpflow.importer import did_you_mean
from mpflow.protocols import (
    LISTENING,
    PROTOCOLS,
    SRT_READ,
    SRT_WRITTEN,
    VIDEO_MAJOR,
    WITH_PORT,
    device_of,
)
from mpflow.spec import STDOUT
from mpflow.urls import is_url, shown

STREAM_FILES = frozenset({".ts", ".m2ts", ".mkv", ".mp4", ".mov", ".flv", ".nut"})
"""What a file is named that is written as the stream comes."""

_SIGNS = (
    "write HOST or HOST:PORT, an IPv6 address in brackets, and signs in a password as %23 for #,"
    " %2F for /, %3F for ?, %40 for @"
)
_LISTEN = "leave out --listen, which is for " + ", ".join(f"{name}://" for name in LISTENING)
_FILE_URL = "write the path alone, without file://"


def check_input(text: str, *, listens: bool = False) -> None:
    """Raise InputError or ConfigError for what cannot be a live input; ``listens`` is for inputs
    that wait for somebody to connect, which need no host."""
    if not text:
        raise ConfigError("an input's name is empty", cure="check the variable it came from")
    if text == STDOUT:
        raise InputError(
            "a live run cannot read standard input",
            cure="give a URL, a device or a file; `ffmpeg -i - -f mpegts udp://127.0.0.1:5000`"
            " makes a stream of it",
        )
    if is_url(text):
        url = _parts(text, InputError)
        _require_scheme(url.scheme, "read", {"srt": SRT_READ, "file": _FILE_URL}, InputError)
        _require_address(text, url, InputError, listens=listens)
        if listens:
            _require_listening(url.scheme)
    elif listens:
        raise ConfigError(f"{text!r} cannot be listened for: it is no URL", cure=_LISTEN)
    elif (device := device_of(text)) is not None:
        _require_device(device, InputError, "is the camera plugged in, and its driver loaded?")
    else:
        _require_file(text)


def check_output(text: str, *, named_format: bool = False) -> None:
    """Raise OutputError or ConfigError for what cannot be a live output; ``named_format`` says
    that the container is told besides, so that no name has to."""
    if not text:
        raise ConfigError("there is no output", cure="give one with -o; - is standard output")
    if text == STDOUT:
        return
    if is_url(text):
        url = _parts(text, OutputError)
        cures = {"srt": SRT_WRITTEN, "file": _FILE_URL}
        _require_scheme(url.scheme, "write to", cures, OutputError)
        _require_address(text, url, OutputError, listens=False)
    elif (device := device_of(text)) is not None:
        _require_device(
            device, OutputError, "modprobe v4l2loopback exclusive_caps=1 makes a loopback camera"
        )
    else:
        _require_place(text, named_format=named_format)


def is_file(text: str) -> bool:
    """Whether an end of a live run is a file: no URL, no device, not standard output."""
    return text != STDOUT and not is_url(text) and device_of(text) is None


def _parts(text: str, kind: type[MpflowError]) -> SplitResult:
    """A URL taken apart, whose port is a number.

    Of urllib's own words none are told, not even in a traceback: they may be a password's.
    """
    try:
        url = urlsplit(text)
        _ = url.port
    except ValueError:
        why = f"{shown(text)!r} is no URL: what follows its host is no port"
        raise kind(why, cure=_SIGNS) from None
    return url


def _require_scheme(
    scheme: str, doing: str, cures: dict[str, str], kind: type[MpflowError]
) -> None:
    if scheme in PROTOCOLS:
        return
    otherwise = f"{did_you_mean(scheme, PROTOCOLS)} (a file or a /dev/videoN will do, too)"
    raise kind(f"{scheme}:// is nothing mpflow can {doing}", cure=cures.get(scheme, otherwise))


def _require_address(
    text: str, url: SplitResult, kind: type[MpflowError], *, listens: bool
) -> None:
    if not url.hostname and not listens:
        raise kind(f"{shown(text)!r} names no host", cure=f"write {url.scheme}://HOST...")
    if url.scheme in WITH_PORT and url.port is None:
        host = url.hostname or ""
        raise kind(f"{shown(text)!r} names no port", cure=f"write {url.scheme}://{host}:PORT")


def _require_listening(scheme: str) -> None:
    if scheme not in LISTENING:
        raise ConfigError(f"{scheme}:// cannot be listened for", cure=_LISTEN)


def _require_device(path: str, kind: type[MpflowError], cure: str) -> None:
    try:
        status = Path(path).stat()
    except OSError as error:
        there = ", ".join(sorted(str(found) for found in Path("/dev").glob("video*")))
        more = f"there are {there}" if there else f"there is no /dev/video* at all: {cure}"
        raise kind(f"there is no device {path!r}: {error.strerror}", cure=more) from error
    if not stat.S_ISCHR(status.st_mode) or os.major(status.st_rdev) != VIDEO_MAJOR:
        raise kind(f"{path!r} is no video device", cure="ls -l /dev/video* shows those there are")
    if not os.access(path, os.R_OK | os.W_OK):
        raise kind(
            f"{path!r} may not be opened by this user", cure="join the group it belongs to: video"
        )


def _require_file(text: str) -> None:
    path = Path(text)
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"there is no file {shown(text)!r}: {why}",
            cure="check the path; a stream has a URL, rtsp://HOST/PATH for example",
        ) from None  # a mistyped URL is no URL any more in the words of the system
    if stat.S_ISDIR(status.st_mode):
        raise InputError(
            f"{text!r} is a folder, and a live run has one input",
            cure="name a file in it, or use mpflow run",
        )


def _require_place(text: str, *, named_format: bool) -> None:
    path = Path(text)
    if path.is_dir():
        raise OutputError(f"{text!r} is a folder", cure="name a file in it")
    if not path.parent.is_dir():
        raise OutputError(
            f"the folder of the output {shown(text)!r} does not exist",
            cure="create it; a stream has a URL, rtsp://HOST/PATH for example",
        )
    if path.suffix.lower() not in STREAM_FILES and not named_format:
        endings = " ".join(sorted(STREAM_FILES))
        raise OutputError(
            f"{shown(text)!r} does not say which container to write",
            cure=f"end it in one of {endings}, or name a --format; a stream has a URL,"
            " rtsp://HOST/PATH for example",
        )
