"""What a video says of itself: its comment, its tags and its XMP, whoever wrote them.

It is a claim, not evidence: whoever can change a file can change it.
"""

from __future__ import annotations

from pathlib import Path

import av
import msgspec

from mpflow.errors import InputError
from mpflow.media.source import open_input
from mpflow.media.xmpbox import read_packet_of
from mpflow.provenance import gb45438, iptc
from mpflow.provenance.gb45438 import ImplicitLabel
from mpflow.provenance.xmp import read_packet


class Declared(msgspec.Struct, frozen=True):
    """What a file says of itself; empty or None where it says nothing."""

    container: str
    comment: str = ""
    source_type: str = ""
    label: ImplicitLabel | None = None
    packet_source_type: str = ""
    packet_label: ImplicitLabel | None = None

    @property
    def types(self) -> list[str]:
        """Each digital source type that is given, once."""
        return list(
            dict.fromkeys(each for each in (self.source_type, self.packet_source_type) if each)
        )

    @property
    def labels(self) -> list[ImplicitLabel]:
        """Each label of GB 45438 that is given, once."""
        return list(dict.fromkeys(each for each in (self.label, self.packet_label) if each))


def read_declared(path: Path) -> Declared:
    """What a file says of itself, by its tags and its XMP. Raises InputError for what is no media
    file, or cannot be read."""
    try:
        with open_input(str(path)) as container:
            name, tags = container.format.name, dict(container.metadata)
        data = read_packet_of(path)
    except (OSError, av.FFmpegError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{str(path)!r} cannot be read: {reason}", cure="check the file"
        ) from error
    said = {key.lower(): value for key, value in tags.items()}
    by_packet = read_packet(data)
    return Declared(
        name.split(",")[0],
        said.get("comment", ""),
        said.get(iptc.PROPERTY.lower(), ""),
        gb45438.read_label(said.get(gb45438.KEY.lower(), "")),
        by_packet[0],
        gb45438.read_label(by_packet[1]),
    )
