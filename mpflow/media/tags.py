"""Which tags of an input go into the output.

    always dropped    what the muxer writes itself, or what describes the old coding
    with metadata     everything else
    without           only what is on the allow-list: title and language

An allow-list, because cameras and editors name owner, device and place in ever new keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Tags = Mapping[str, str]

_SAFE = frozenset({"title", "language"})

# Written by the muxer, or true only of the old file.
_STALE = re.compile(
    r"^(major_brand|minor_version|compatible_brands|encoder|encoded_by|rotate|duration"
    r"|vendor_id|location-eng|bps|number_of_(frames|bytes)|_statistics_.*|source_id)(-\w+)?$",
    re.IGNORECASE,
)
# The track's name in mp4 and mov: a plain one is written anew.
_HANDLER = "handler_name"
# Tags that nobody misses when their track is not there.
_TRIVIAL = frozenset({_HANDLER, "filename", "mimetype"})

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
        return {key: value for key, value in tags.items() if not _is_stale(key, value)}
    return {key: value for key, value in tags.items() if key.lower() in _SAFE}


def lost_tags(tags: Tags, kept: Tags) -> list[str]:
    """Names of the tags that were left out and that somebody put there."""
    return sorted(
        key
        for key in tags
        if key not in kept and not _is_stale(key, tags[key]) and key.lower() not in _TRIVIAL
    )


def needs_metadata_keys(tags: Tags) -> bool:
    """Whether mp4 or mov would lose a tag without the muxer's own metadata keys."""
    return any(key.lower() not in _MP4_KEYS for key in tags)


def _is_stale(key: str, value: str) -> bool:
    plain_name = key.lower() == _HANDLER and value.endswith("Handler")
    return plain_name or bool(_STALE.match(key))
