"""The mark in a contact sheet that says it is one: a text chunk behind the PNG's header.

Without it a sheet could take the place of any picture, a photo of the gallery for one. See the PNG
specification, sections 5 (chunks) and 11.3.3 (keyword Software).
"""

from __future__ import annotations

import re
import struct
import zlib

_HEADER = 33
"""Bytes of signature and IHDR, which is always first and always as long."""

_KIND, _TEXT = b"tEXt", b"Software\0mpflow audit"

SHEET_BEGINS = re.compile(rb"\x89PNG.{%d}%s%s" % (_HEADER, _KIND, re.escape(_TEXT)), re.DOTALL)


def marked(png: bytes) -> bytes:
    """The same picture with the mark."""
    content = _KIND + _TEXT
    chunk = struct.pack(">I", len(_TEXT)) + content + struct.pack(">I", zlib.crc32(content))
    return png[:_HEADER] + chunk + png[_HEADER:]
