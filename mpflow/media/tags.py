"""Which tags of an input go into the output.

    always dropped    what the muxer writes itself, or what describes the old coding
    with metadata     everything else
    without           only the language, where it is one, and that something in it was made

An allow-list, because cameras and editors name owner, device and place in ever new keys. A title
is not on it: it is free text, in which people are named, whether it is the file's, a track's or a
chapter's. Chapters get numbers instead. That something in a file was made (IPTC's digital source
type, the label of GB 45438) is not to be lost on the way; it is kept where it can hold no name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping

Tags = Mapping[str, str]

# A language as ISO 639 or BCP 47 has it: anything else in its place is free text.
_LANGUAGE = re.compile(r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$")

# What says that something was made, as far as it is one of a list, a code, an id or our own name.
_MADE = {
    "iptc4xmpext:digitalsourcetype": re.compile(
        r"https?://cv\.iptc\.org/newscodes/digitalsourcetype/[A-Za-z]{1,64}"
    ),
    "aigc": re.compile(
        r'\{("(Label|ContentProducer|ProduceID|ReservedCode1|ContentPropagator|PropagateID'
        r'|ReservedCode2)": ?"([0-9A-Z]{18,40}|[0-9a-f-]{0,40}|mpflow)"(, ?|\}$))+'
    ),
}

# Written by the muxer, or true only of the old file.
_STALE = re.compile(
    r"^(major_brand|minor_version|compatible_brands|rotate|duration|vendor_id|bps"
    r"|number_of_(frames|bytes)|_statistics_.*|source_id)(-\w+)?$",
    re.IGNORECASE,
)
# Said twice by the demuxer: the same place, without its language, is a tag of its own.
_REPEATED = re.compile(r"^(location-\w+)$", re.IGNORECASE)
_ENCODER = re.compile(r"^encoder(-\w+)?$", re.IGNORECASE)
# The track's name in mp4 and mov: a plain one is written anew.
_HANDLER = "handler_name"
_HANDLERS = frozenset(
    f"{kind}Handler" for kind in ("Video", "Sound", "Subtitle", "Data", "TimeCode", "")
)
# What an attached file's own track is about; it is named when it is left out.
_ATTACHED = frozenset({"filename", "mimetype"})

# Keys that mp4 and mov hold in their own boxes; any other needs the muxer's metadata keys.
_MP4_KEYS = frozenset(
    {"title", "artist", "album_artist", "composer", "album", "date", "comment", "genre"}
    | {
        "location",
        "copyright",
        "grouping",
        "lyrics",
        "description",
        "synopsis",
        "show",
        "episode_id",
    }
    | {"network", "keywords", "track", "disc", "tempo", "creation_time", "timecode", "language"}
)


def kept_tags(tags: Tags, *, keep: bool) -> dict[str, str]:
    """The tags of a file, stream or chapter that go into the output."""
    if keep:
        return {key: value for key, value in tags.items() if not _is_rewritten(key, value)}
    return {key: value for key, value in tags.items() if _says_no_name(key, value)}


def chapter_tags(tags: Tags, number: int, *, keep: bool) -> dict[str, str]:
    """The tags of the chapter of that number, from 1: without its own it has a plain name."""
    kept = kept_tags(tags, keep=keep)
    return kept if keep else {**kept, "title": f"Chapter {number}"}


def private_tags(tags: Tags, *, attached: bool = False) -> list[str]:
    """Names of the tags that are left out where none are to be kept, but for the muxer's own.

    ``attached`` says that they are those of an attached file, which is named itself.
    """
    return sorted(
        key
        for key, value in tags.items()
        if not _says_no_name(key, value)
        and not _is_plain(key, value)
        and not (attached and key.lower() in _ATTACHED)
    )


def add_comment(tags: MutableMapping[str, str], note: str) -> None:
    """Have a file's comment say the ``note`` too; what it says already is not said twice.

    Containers without comments (MPEG-TS is one) say nothing.
    """
    if not note:
        return
    found = next((key for key in tags if key.lower() == "comment"), "comment")
    said = tags.get(found, "")
    if note not in said:
        tags[found] = f"{said}; {note}" if said else note


def needs_metadata_keys(tags: Tags) -> bool:
    """Whether mp4 or mov would lose a tag without the muxer's own metadata keys."""
    return any(key.lower() not in _MP4_KEYS for key in tags)


def _is_language(key: str, value: str) -> bool:
    return key.lower() == "language" and bool(_LANGUAGE.match(value))


def _says_no_name(key: str, value: str) -> bool:
    made = _MADE.get(key.lower())
    return _is_language(key, value) or (made is not None and bool(made.fullmatch(value)))


def _is_rewritten(key: str, value: str) -> bool:
    """Whether a tag is left to the muxer even where tags are kept."""
    return bool(_is_plain(key, value) or _ENCODER.match(key) or _REPEATED.match(key))


def _is_plain(key: str, value: str) -> bool:
    """Whether a tag is the muxer's own, with nothing in it that a person wrote."""
    if _ENCODER.match(key):
        return value.startswith("Lav")
    if key.lower() == _HANDLER:
        return value.endswith("Handler") and value[:-7] in (
            "",
            "Video",
            "Sound",
            "Subtitle",
            "Data",
            "TimeCode",
        )
    return bool(_STALE.match(key))
