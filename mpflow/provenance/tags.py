"""What a synthetic video says of itself in its container.

how, by whom -> comment + tags (any container with free tags) + XMP packet (mp4, mov)
"""

from __future__ import annotations

from mpflow.media.declaration import Declaration
from mpflow.provenance import gb45438, iptc
from mpflow.provenance.iptc import SourceType
from mpflow.provenance.xmp import packet
from mpflow.spec import MADE, Making

PRODUCER = "mpflow"
"""Who made it, unless whoever runs mpflow has a name or code to give: the tool."""

_TYPES = {"composite": SourceType.COMPOSITE, "generated": SourceType.EDITED}


def source_type_of(making: Making) -> str:
    """The URI of the digital source type; empty where no face was made."""
    return _TYPES[making].uri if making else ""


def declaration_of(making: Making, producer: str = PRODUCER) -> Declaration:
    """What a file has to say that is being made; nothing where no face in it was made.

    The id in its label is new each time.
    """
    if not making:
        return Declaration()
    uri = source_type_of(making)
    label = gb45438.label_text(gb45438.new_label(producer or PRODUCER))
    return Declaration(MADE, {gb45438.KEY: label, iptc.PROPERTY: uri}, packet(uri, label))
