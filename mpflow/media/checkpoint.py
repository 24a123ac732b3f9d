"""What a job's chunks were made of, and how: the key that says whether they can be gone on with.

    input by content + range + settings of all stages + encoder + grid + versions -> checkpoint.json

Whoever goes on must have the same key; each thing that differs is named, and nothing is touched.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import av
import msgspec

from mpflow._version import __version__
from mpflow.errors import InputError, Refused
from mpflow.media.chunks import CHECKPOINT, temporary
from mpflow.media.output import parts_error, rename_new
from mpflow.spec import JobSpec, MediaInfo
from mpflow.urls import is_url
from mpflow.wholefile import sync

FORMAT = 1
_WHOLE = 256 << 20
"""Bytes of an input that is read whole; of a larger one only so much is: _ENDS and _BLOCKS."""
_ENDS = 1 << 20
_BLOCKS, _BLOCK = 256, 256 << 10
_CONTENT = "input.content"
_ANEW = "-y without --resume starts anew"

Key = dict[str, Any]
"""Dotted names and plain values, such as ``encoder.crf: "18"``."""


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file's content."""

    mpflow_checkpoint: int
    key: Key


def identity(path: str, media: MediaInfo) -> Key:
    """What an input is by its content: its size, and a digest.

    The digest is of all of it up to 256 MiB; of a larger one, of its first and last MiB and of 256
    blocks of 256 KiB that are spread evenly, so that hours of video are not read twice. A URL is
    not read for this: it is the one that was asked for, at the size the server says.
    """
    if is_url(path):
        return {"input.size": media.size, _CONTENT: hashlib.sha256(path.encode()).hexdigest()}
    digest = hashlib.blake2b(digest_size=32)
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for place, length in _samples(size):
                digest.update(_read_at(file, place, length))
    except OSError as error:
        raise InputError(f"{path!r} cannot be read: {error.strerror}", cure="check it") from error
    return {"input.size": size, _CONTENT: digest.hexdigest()}


def make_key(job: JobSpec, media: MediaInfo, facts: Mapping[str, Any], grid: int = 0) -> Key:
    """The key of a job; ``facts`` are those of the output itself. Raises InputError.

    Without a ``grid`` it is that of all chunks for a farm, whatever their frames.
    """
    whole = {"start": job.start, "stop": job.stop} if grid else {}
    key = {
        **identity(job.input, media),
        **whole,
        "grid": grid,
        **dict(flat(job.settings)),
        **dict(flat(facts)),
        **_versions(),
    }
    return msgspec.json.decode(msgspec.json.encode(key), type=dict[str, Any])


def digest(key: Key) -> str:
    """A short stand-in for a key, kept with each chunk."""
    return hashlib.sha256(msgspec.json.encode(key, order="sorted")).hexdigest()[:32]


def load(folder: Path) -> Key | None:
    """The key in a folder of parts, None without one; raises Refused for a file not ours."""
    path = folder / CHECKPOINT
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise Refused(
            f"{str(path)!r} is damaged, or no checkpoint: {error}",
            cure=f"remove {str(folder)!r} if nothing in it is needed",
        ) from error
    if stored.mpflow_checkpoint != FORMAT:
        raise Refused(
            f"{str(path)!r} was written by another version of mpflow"
            f" (checkpoint {stored.mpflow_checkpoint}, this is {FORMAT})",
            cure=_ANEW,
        )
    return stored.key


def claim(folder: Path, key: Key) -> None:
    """Make the parts in a folder this job's: compare with the key there, or write it there.

    Raises Refused that names all that differs, OutputError, or ResourceError.
    """
    if (kept := load(folder)) is None:
        _save(folder, key)
        kept = load(folder) or key  # another writer may have been first
    compare(folder, kept, key)


def compare(folder: Path, kept: Key, now: Key) -> None:
    """Raise Refused that names all that differs between the parts' key and this job's."""
    names = sorted(name for name in kept.keys() | now.keys() if kept.get(name) != now.get(name))
    if not names:
        return
    said = [text for name in names for text in _difference(name, kept, now)]
    raise Refused(
        f"the parts in {str(folder)!r} were made {'; '.join(dict.fromkeys(said))}",
        cure=f"ask for the same again, or {_ANEW}",
        facts={name: [kept.get(name), now.get(name)] for name in names},
    )


def kept_threads(folder: Path) -> int:
    """The encoder's threads that the parts in a folder were made with; 0 where none tells."""
    with suppress(Refused):
        key = load(folder)
        threads = key.get("encoder.threads") if key else None
        return threads if isinstance(threads, int) else 0
    return 0


def _samples(size: int) -> Iterator[tuple[int, int]]:
    """Which bytes of an input are looked at: places and lengths."""
    if size <= _WHOLE:
        yield from ((place, _ENDS) for place in range(0, size, _ENDS))
        return
    yield 0, _ENDS
    for number in range(_BLOCKS):
        yield number * (size - _BLOCK) // (_BLOCKS - 1), _BLOCK
    yield size - _ENDS, _ENDS


def _read_at(file: BinaryIO, place: int, length: int) -> bytes:
    file.seek(place)
    return file.read(length)


def _save(folder: Path, key: Key) -> None:
    """Write a key; where another writer was first, theirs stays."""
    path = folder / CHECKPOINT
    new = temporary(path, str(os.getpid()))
    try:
        folder.mkdir(exist_ok=True)
        new.write_bytes(msgspec.json.format(msgspec.json.encode(_Stored(FORMAT, key)), indent=1))
        sync(new)
        with suppress(FileExistsError):
            rename_new(new, path)
    except OSError as error:
        raise parts_error(folder, error) from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def _difference(name: str, kept: Key, now: Key) -> Iterator[str]:
    if name.startswith("input."):
        yield "from another input"
    elif name == "grid" and 0 in (kept.get(name), now.get(name)):
        yield "as chunks for a farm" if not kept.get(name) else "by a run, not for a farm"
    else:
        yield f"with {name}={_shown(kept, name)}, now {_shown(now, name)}"


def _shown(key: Key, name: str) -> str:
    value = key.get(name)
    return "nothing" if value is None else str(value)


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings as a key has them, each under its full name."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", list(value) if isinstance(value, tuple) else value


def _versions() -> Key:
    libraries = {
        f"version.{name}": ".".join(map(str, version))
        for name, version in av.library_versions.items()
        if name in ("libavcodec", "libavformat", "libavutil", "libswscale")
    }
    return {"version.mpflow": __version__, "version.av": av.__version__, **libraries}
