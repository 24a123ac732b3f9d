"""URLs: what is one, and how it is shown: never with what lets somebody in.

user:password@   before the host
the stream key   of RTMP: what follows the application, rtmp://host/live2/KEY
parameters       whose names say so, in the query or, as cameras have it, in the path
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\0'\"<>]+")

# RFC 3986 has the userinfo between // and the last @ before the path; a password typed as it is
# may contain an @ itself.
_USERINFO = re.compile(r"(?<=://)[^/\s\0]+(?=@)")
_RTMP = re.compile(r"(?i)rtmp[a-z]*://[^/]+/[^/]+/")
_PARAMETER = re.compile(
    r"(?i)[?&;/_](?:user(?:name)?|pass(?:word|wd|phrase)?|pwd|(?:access_?|auth_?)?token"
    r"|(?:api_?|stream_?)?key|auth|secret|sig(?:nature)?)=([^&;/_#]+)"
)


def is_url(text: str) -> bool:
    """Whether an input or output is reached by a protocol rather than a path."""
    return bool(_URL.match(text))


def hide_credentials(text: str) -> str:
    """A text in which no URL has a user name, a password, a stream key or a token."""
    shown, at = [], 0
    for start, stop in secret_spans(text):
        if start >= at:
            shown += [text[at:start], "***"]
        at = max(at, stop)
    return "".join([*shown, text[at:]])


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where in a text secrets stand in URLs: from, and up to, in order."""
    spans = [found.span() for found in _USERINFO.finditer(text)]
    for url in _IN_TEXT.finditer(text):
        spans += [(url.start() + start, url.start() + stop) for start, stop in _inside(url[0])]
    return sorted(spans)


def _inside(url: str) -> Iterator[tuple[int, int]]:
    if application := _RTMP.match(url):
        yield application.end(), len(url.rstrip(".,:;)]"))
        return
    for found in _PARAMETER.finditer(url):
        yield found.span(1)
