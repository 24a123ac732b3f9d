"""IPTC's digital source type: from what kind of source a medium comes.

The vocabulary is that of https://cv.iptc.org/newscodes/digitalsourcetype/ (as of October 2024), the
property that of IPTC's Video Metadata Hub, which keeps it in XMP.
"""

from __future__ import annotations

import re
from enum import StrEnum

SCHEME = "http://cv.iptc.org/newscodes/digitalsourcetype/"
NAMESPACE = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
PREFIX, NAME = "Iptc4xmpExt", "DigitalSourceType"
PROPERTY = f"{PREFIX}:{NAME}"

_URI = re.compile(r"https?://cv\.iptc\.org/newscodes/digitalsourcetype/([A-Za-z]{1,64})/?")


class SourceType(StrEnum):
    """The terms that say of a medium that something in it was not captured but made."""

    COMPOSITE = "compositeSynthetic"
    """Composed of several elements, at least one of which is synthetic."""
    EDITED = "compositeWithTrainedAlgorithmicMedia"
    """Captured, then edited with a generative model."""
    GENERATED = "trainedAlgorithmicMedia"
    """Made by a generative model as a whole."""

    @property
    def uri(self) -> str:
        """How the term is written in metadata."""
        return f"{SCHEME}{self.value}"


def term_of(uri: str) -> str | None:
    """The term of IPTC's vocabulary that a URI names; None for any other text."""
    found = _URI.fullmatch(uri.strip())
    return found[1] if found else None


def is_synthetic(uri: str) -> bool:
    """Whether a URI says that something in a medium was made."""
    return term_of(uri) in {each.value for each in SourceType}
