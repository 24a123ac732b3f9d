"""The implicit label of GB 45438-2025, China's standard for labelling synthetic content.

Annex E of the standard puts seven text fields as JSON under the key ``AIGC`` of a file's metadata.
Where that key goes is said for video by the practice guide TC260-PG-20257A:

    mp4, mov        moov.udta.meta, key AIGC in keys, the JSON in ilst
    flv             AIGC in script.onMetaData
    mkv, webm       Segment.Tags.Tag.SimpleTag, TagName AIGC
    avi             a chunk AIGC in LIST/INFO
    others          XMP: <TC260:AIGC>
"""

from __future__ import annotations

import uuid

import msgspec

KEY = "AIGC"
NAMESPACE = "http://www.tc260.org.cn/ns/AIGC/1.0/"
PREFIX = "TC260"

IS_SYNTHETIC = "1"
"""``Label`` of what is synthetic; 2 is for what may be, 3 for what is suspected to be."""

_LABELS = frozenset({"1", "2", "3"})
_FIELDS = {
    "label": "Label",
    "producer": "ContentProducer",
    "produce_id": "ProduceID",
    "reserved_1": "ReservedCode1",
    "propagator": "ContentPropagator",
    "propagate_id": "PropagateID",
    "reserved_2": "ReservedCode2",
}


class ImplicitLabel(msgspec.Struct, frozen=True, rename=_FIELDS):
    """Who made a file is its ``producer``, by name or code, who spreads it its ``propagator``; each
    calls it by an id of its own. The reserved fields are free for either's integrity checks."""

    label: str
    producer: str
    produce_id: str
    reserved_1: str = ""
    propagator: str = ""
    propagate_id: str = ""
    reserved_2: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether it says whether, by whom and as what it was made, as the standard asks."""
        return self.label in _LABELS and bool(self.producer and self.produce_id)


def new_label(producer: str) -> ImplicitLabel:
    """The label of a file that is being made, with an id that is random and says nothing."""
    return ImplicitLabel(IS_SYNTHETIC, producer, uuid.uuid4().hex)


def label_text(label: ImplicitLabel) -> str:
    """The label as metadata keeps it: JSON on one line."""
    return msgspec.json.encode(label).decode()


def read_label(text: str) -> ImplicitLabel | None:
    """The label in a text, whoever wrote it; None for what is none. Some write it under its key."""
    try:
        data = msgspec.json.decode(text)
        if isinstance(data, dict) and isinstance(inner := data.get(KEY), dict):
            data = inner
        return msgspec.convert(data, ImplicitLabel)
    except msgspec.MsgspecError:
        return None
