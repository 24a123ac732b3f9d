"""From what the user typed to files: a folder stands for the videos in it.

A folder is read one level deep unless ``recursive`` asks for more. Hidden files are passed over,
and so is what mpflow itself left beside an input (``NAME.partial.EXT``, ``NAME.redacted.EXT``),
so that running twice over a folder does not work on its own results.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mpflow.errors import ConfigError, InputError, MpflowError
from mpflow.urls import is_url

VIDEO_SUFFIXES = frozenset(
    {".3gp", ".asf", ".avi", ".f4v", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4"}
    | {".mpeg", ".mpg", ".mts", ".mxf", ".ogv", ".ts", ".vob", ".webm", ".wmv", ".y4m"}
)
"""What a folder is searched for. A file named by itself may end in anything."""

_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Found:
    """One input: its path as given, its place below the folder it was found in, that folder's
    name, and the error when it cannot be an input at all."""

    path: str
    relative: Path
    folder: str
    error: MpflowError | None = None


def discover(
    inputs: Iterable[str], *, recursive: bool = False, own_words: Iterable[str] = ()
) -> list[Found]:
    """Every file that the inputs stand for, in order, each once.

    ``own_words`` are the endings of results that lie beside their inputs. What is missing comes
    as a Found with its InputError: the others can still be worked on.
    """
    passed_over = {"partial", *own_words}
    found: dict[str, Found] = {}
    for text in inputs:
        for item in _expand(text, recursive, passed_over):
            found.setdefault(item.path if is_url(item.path) else os.path.realpath(item.path), item)
    return list(found.values())


def natural(path: Path) -> list[tuple[int, str]]:
    """A sort key that puts ``clip2`` before ``clip10``."""
    parts = _NUMBERS.split(str(path).casefold())
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _expand(text: str, recursive: bool, passed_over: set[str]) -> Iterator[Found]:
    if is_url(text):
        name = Path(text.partition("?")[0]).name
        yield Found(text, Path(name or "stream"), "")
        return
    path = Path(text)
    error = _unusable(text, path)
    if error is not None:
        yield Found(text, Path(path.name), path.absolute().parent.name, error)
    elif path.is_dir():
        yield from _videos_in(path, recursive, passed_over)
    else:
        yield Found(text, Path(path.name), path.absolute().parent.name)


def _unusable(text: str, path: Path) -> MpflowError | None:
    """Why a text cannot be an input, as far as its name alone tells."""
    if text == "-":
        return InputError("standard input cannot be read twice", cure="save it to a file first")
    try:
        text.encode()
        exists = path.exists()
    except UnicodeEncodeError:
        return InputError(f"the name of {text!r} is not UTF-8", cure="rename the file")
    except (OSError, ValueError) as error:
        return InputError(f"{text!r} cannot be looked at: {error}", cure="check the path")
    if not text:
        return ConfigError("an input's name is empty", cure="check the variable it came from")
    return None if exists else InputError(f"there is no file {text!r}", cure="check the path")


def _videos_in(folder: Path, recursive: bool, passed_over: set[str]) -> Iterator[Found]:
    name = folder.absolute().resolve().name
    try:
        videos = sorted(_walk(folder, recursive, passed_over), key=natural)
    except OSError as error:
        fault = InputError(
            f"folder {str(folder)!r} cannot be read: {error.strerror}", cure="check its rights"
        )
        yield Found(str(folder), Path(name), "", fault)
        return
    for video in videos:
        yield Found(str(video), video.relative_to(folder), name)
    if not videos:
        where = "it or below it" if recursive else "it (--recursive looks further down)"
        endings = " ".join(sorted(VIDEO_SUFFIXES))
        fault = InputError(
            f"folder {str(folder)!r} has no video in {where}",
            cure=f"looked for files ending in {endings}; name others one by one",
        )
        yield Found(str(folder), Path(name), "", fault)


def _walk(folder: Path, recursive: bool, passed_over: set[str]) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            if entry.name.startswith("."):
                continue
            if recursive and entry.is_dir(follow_symlinks=False):
                yield from _walk(path, recursive, passed_over)
            elif entry.is_file() and _is_video(path, passed_over):
                yield path


def _is_video(path: Path, passed_over: set[str]) -> bool:
    ours = Path(path.stem).suffix.lstrip(".") in passed_over
    return path.suffix.lower() in VIDEO_SUFFIXES and not ours
