"""The XMP packet of a synthetic video: IPTC's digital source type and the label of GB 45438.

XMP is ISO 16684-1. Only these two properties are written, and only these are looked for.
"""

from __future__ import annotations

from xml.etree import ElementTree
from xml.sax.saxutils import escape

from mpflow.provenance import gb45438, iptc

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_ID = "W5M0MpCehiHzreSzNTczkc9d"  # what every packet begins with, by the XMP specification
_MOST_BYTES = 1 << 20


def packet(source_type: str, label: str) -> bytes:
    """A packet that says both; ``label`` is JSON as ``gb45438.label_text`` makes it."""
    text = (
        f'<?xpacket begin="\ufeff" id="{_ID}"?>\n'
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{_RDF}">\n'
        f'<rdf:Description rdf:about="" xmlns:{iptc.PREFIX}="{iptc.NAMESPACE}"'
        f' xmlns:{gb45438.PREFIX}="{gb45438.NAMESPACE}">\n'
        f"<{iptc.PROPERTY}>{escape(source_type)}</{iptc.PROPERTY}>\n"
        f"<{gb45438.PREFIX}:{gb45438.KEY}>{escape(label)}</{gb45438.PREFIX}:{gb45438.KEY}>\n"
        "</rdf:Description>\n</rdf:RDF></x:xmpmeta>\n"
        '<?xpacket end="r"?>'
    )
    return text.encode()


def read_packet(data: bytes) -> tuple[str, str]:
    """The digital source type and the label in a packet, each empty where it is not there.

    A packet that is no XML says nothing, and neither does one that declares entities.
    """
    if len(data) > _MOST_BYTES or b"<!DOCTYPE" in data.upper():
        return "", ""
    try:
        root = ElementTree.fromstring(data.strip(b"\0 \r\n\t"))
    except ElementTree.ParseError:
        return "", ""
    return (
        _property(root, f"{{{iptc.NAMESPACE}}}{iptc.NAME}"),
        _property(root, f"{{{gb45438.NAMESPACE}}}{gb45438.KEY}"),
    )


def _property(root: ElementTree.Element, name: str) -> str:
    """A simple property, written as an element, as an attribute or as a reference."""
    for element in root.iter():
        if element.tag == name:
            return (element.text or "").strip() or element.get(f"{{{_RDF}}}resource", "")
        if name in element.attrib:
            return element.attrib[name].strip()
    return ""
