"""URLs: what is one, and how it is shown: never with its user name and password."""

from __future__ import annotations

import re

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")

# RFC 3986 has the userinfo between // and the last @ before the path; a password typed as it is
# may contain an @ itself.
_USERINFO = re.compile(r"(?<=://)[^/\s]*@")


def is_url(text: str) -> bool:
    """Whether an input or output is reached by a protocol rather than a path."""
    return bool(_URL.match(text))


def hide_credentials(text: str) -> str:
    """A text in which no URL has a user name or password."""
    return _USERINFO.sub("***@", text)
