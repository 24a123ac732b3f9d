"""What a file has to say of itself, whatever else is kept of its input: a comment, tags, XMP.

    Declaration -> declare: comment and tags, before the header is written
                -> seal: what the muxer cannot write, once the file is whole and closed

Whatever a container cannot keep is named in a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

from mpflow.media.muxer import FRAGMENTED
from mpflow.media.riffinfo import MOST_BYTES, add_info
from mpflow.media.tags import add_comment
from mpflow.media.xmpbox import append_packet

# Containers that keep a tag under any name. mp4 and mov do so with the muxer's metadata keys.
_FREE = frozenset({"mp4", "mov", "ipod", "matroska", "webm", "flv", "nut", "ogg"})
_COMMENTS = frozenset({"avi", "asf", "3gp", "3g2", "psp"})
_CODE = 4  # letters of a tag in AVI


@dataclass(frozen=True, slots=True)
class Declaration:
    """A ``comment``, ``tags`` by name, and an XMP ``packet``; empty for nothing to be said."""

    comment: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    packet: bytes = b""


SILENT = Declaration()


def declare(
    tags: MutableMapping[str, str],
    said: Declaration,
    container: str,
    say: Callable[[str], None] = lambda text: None,
    *,
    is_sealed: bool = False,
) -> None:
    """Put a comment and tags among those of a file; what its container loses is named.

    ``container`` is FFmpeg's name; ``is_sealed`` says that the file will be sealed. A tag that the
    input brought under the same name is replaced.
    """
    add_comment(tags, said.comment)
    for name, value in said.tags.items():
        for old in [each for each in tags if each.lower() == name.lower()]:
            del tags[old]
        tags[name] = value
    if not (lost := [name for name in said.tags if not _is_kept(said, name, container, is_sealed)]):
        return
    left = "its comment says so" if container in _COMMENTS else "it has no comment either"
    say(f"{container} cannot keep {', '.join(lost)}, which say that faces were made: {left}")


def seal(path: Path, container: str, said: Declaration) -> None:
    """Write into a whole file what its muxer could not. Raises OSError."""
    if said.packet and container in FRAGMENTED:
        append_packet(path, said.packet)
    for name, value in said.tags.items() if container == "avi" else ():
        if _fits_avi(name, value):
            add_info(path, name, value)


def keeps_tags(container: str) -> bool:
    """Whether a container, by FFmpeg's name, keeps tags of any name."""
    return container in _FREE


def _is_kept(said: Declaration, name: str, container: str, is_sealed: bool) -> bool:
    if keeps_tags(container):
        return True
    by_packet = said.packet and container in FRAGMENTED
    by_code = container == "avi" and _fits_avi(name, said.tags[name])
    return is_sealed and bool(by_packet or by_code)


def _fits_avi(name: str, value: str) -> bool:
    return len(name) == _CODE and len(value.encode()) <= MOST_BYTES
