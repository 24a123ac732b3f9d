"""Codec headers without the free text that some have room for.

ass, ssa    script info tells of title, authors and file names: only what players need stays
vorbis      a comment packet holds the tags of the song: it is written anew, empty
"""

from __future__ import annotations

from av.stream import Stream

_SECTIONS = frozenset({"script info", "v4 styles", "v4+ styles", "events"})
# What the script info says about how to draw.
_DRAWING = frozenset({"scripttype", "playresx", "playresy", "layoutresx", "layoutresy"}) | {
    "wrapstyle",
    "scaledborderandshadow",
    "ycbcr matrix",
    "collisions",
    "timer",
    "kerning",
}
_NO_COMMENTS = b"\x03vorbis" + bytes(8) + b"\x01"
_LACED = 255


def plain_header(stream: Stream, codec: str) -> bytes | None:
    """A stream's header without free text; None where the codec has no room for any."""
    context = stream.codec_context
    header = context.extradata if context is not None else None
    if not header:
        return None
    if codec in ("ass", "ssa"):
        return plain_script(header)
    return plain_vorbis(header) if codec == "vorbis" else None


def plain_script(header: bytes) -> bytes:
    """The header of styled text: sections and lines that say how it is drawn."""
    kept: list[bytes] = []
    section = ""
    for line in header.splitlines():
        text = line.decode("utf-8", "replace").strip().lstrip("\ufeff")
        if text.startswith("["):
            section = text.strip("[]").lower()
        if section in _SECTIONS and _draws(section, text):
            kept.append(line)
    return b"\r\n".join([*kept, b""])


def _draws(section: str, text: str) -> bool:
    key = text.partition(":")[0].strip().lower()
    if not text or text.startswith("["):
        return True
    if section == "script info":
        return key in _DRAWING
    return key == "format" or (section != "events" and key == "style")


def plain_vorbis(header: bytes) -> bytes:
    """Three packets, laced as Xiph does: set-up, comments, codebooks; the second one emptied."""
    first, at = _laced(header, 1)
    second, at = _laced(header, at)
    if header[0] != 2 or header[at + first : at + first + 7] != _NO_COMMENTS[:7]:
        return header  # not as it should be: for the decoder to judge
    start, books = header[at : at + first], header[at + first + second :]
    sizes = bytes([2, *_lacing(first), *_lacing(len(_NO_COMMENTS))])
    return sizes + start + _NO_COMMENTS + books


def _laced(data: bytes, at: int) -> tuple[int, int]:
    """A size in Xiph's lacing, and where it ends."""
    size = 0
    while at < len(data) and data[at] == _LACED:
        size, at = size + _LACED, at + 1
    return size + (data[at] if at < len(data) else 0), at + 1


def _lacing(size: int) -> list[int]:
    return [_LACED] * (size // _LACED) + [size % _LACED]
