"""URLs: what is one, and how it is shown: never with what lets somebody in.

user:password@   before the host: up to the last @ there is, since a password typed as it is may
                 have any sign in it
the stream key   of RTMP: what follows the application, rtmp://host/live2/KEY, or the host
parameters       all values but a few that are known to tell nothing, in the query or, as cameras
                 have it, in the path. A list of secret names would never be whole.

Rather too much is left out than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")

# In a text also those of the usual schemes that are mistyped, rtsp:/ and rtsp//: they are told of
# as well. The length is bounded so that a long word is not read again from each of its letters.
_BEGIN = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,31}://+|(?i:rtsps?|rtmp[a-z]{0,2}|https?|tcp|tls|udp|srt)(?://+|:/)"
)
_WORD = re.compile(r"[^\s\0]*", re.ASCII)
_AFTER_WORD = ".,:;)]}>'\"`"
_AFTER_QUOTES = r"[\s\0.,:;)\]}>\\'\"|&]|$"
_QUOTED = {
    opening: re.compile(rf"(?:\\.|[^\\\n{closing}]|{closing}(?!{_AFTER_QUOTES}))*+{closing}")
    for opening, closing in zip("'\"`<", "'\"`>", strict=True)
}

_APPLICATION = re.compile(r"/+[^/?#=\s]+/+(?=[^/])")
_PAIR_IN_PATH = re.compile(r"([A-Za-z0-9.~-]*)=([^&;/_]*)")
_PIECE_OF_QUERY = re.compile(r"[^&;]+")
_NAME = re.compile(r"[A-Za-z][\w.~-]{0,39}", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9.:\[\]+-]{0,64}")
_HARMLESS = frozenset(
    {"broadcast", "buffer_size", "channel", "connect", "fifo_size", "listen", "listen_timeout"}
    | {"localaddr", "localport", "overrun_nonfatal", "pkt_size", "reuse", "rw_timeout", "subtype"}
    | {"tcp_nodelay", "timeout", "transport", "ttl"}
)


def is_url(text: str) -> bool:
    """Whether an input or output is reached by a protocol rather than a path."""
    return bool(_URL.match(text))


def shown(address: str) -> str:
    """An input, an output or another word of a command line, as anybody may see it. It is taken for
    one URL to its end, spaces and all."""
    return _without(address, secret_spans(address, whole=True))


def hide_credentials(text: str) -> str:
    """A text in which no URL has a user name, a password, a stream key or a token. A URL ends with
    the word, or where the quotes end that it stands in."""
    return _without(text, secret_spans(text))


def secret_spans(text: str, *, whole: bool = False) -> list[tuple[int, int]]:
    """Where in a text secrets stand in URLs: from, and up to, in order. ``whole`` takes the text
    for one URL from where it begins."""
    spans = []
    for begin in _BEGIN.finditer(text):
        stop = len(text) if whole else _end(text, begin)
        rest, offset = text[begin.end() : stop], begin.end()
        spans += [(offset + start, offset + end) for start, end in _inside(begin[0], rest)]
    return sorted(spans)


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, stop in spans:
        if start >= at:
            parts += [text[at:start], "***"]
        at = max(at, stop)
    return "".join([*parts, text[at:]])


def _end(text: str, begin: re.Match[str]) -> int:
    """Where a URL within a text ends."""
    quoted = _QUOTED.get(text[begin.start() - 1 : begin.start()])
    if quoted is not None and (found := quoted.match(text, begin.end())):
        return found.end() - 1
    word = _WORD.match(text, begin.end())
    assert word is not None, "a word may be empty"
    return begin.end() + len(word[0].rstrip(_AFTER_WORD))


def _inside(scheme: str, rest: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand in what follows the scheme of a URL."""
    at = rest.rfind("@")
    if at > 0:
        yield 0, at
    host = re.compile(r"[^/?#]*").match(rest, at + 1)
    assert host is not None, "a host may be empty"
    if "rtmp" in scheme.lower():
        yield from _stream_key(rest, host.end())
        return
    path, mark, _ = rest[host.end() :].replace("#", "?").partition("?")
    query = host.end() + len(path) + len(mark)
    yield from _in_path(rest, host.end(), host.end() + len(path))
    yield from _in_query(rest, query)


def _stream_key(rest: str, after: int) -> Iterator[tuple[int, int]]:
    application = _APPLICATION.match(rest, after)
    start = application.end() if application else after
    while start < len(rest) and rest[start] in "/?#":
        start += 1
    if start < len(rest):
        yield start, len(rest)


def _in_path(rest: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """From the first value on, since a value may have any sign in it."""
    for pair in _PAIR_IN_PATH.finditer(rest, start, stop):
        if not _is_harmless(pair[1], pair[2]):
            yield pair.start(2), stop
            return


def _in_query(rest: str, start: int) -> Iterator[tuple[int, int]]:
    for piece in _PIECE_OF_QUERY.finditer(rest, start):
        name, equals, value = piece[0].partition("=")
        if _is_harmless(name, value):
            continue
        is_pair = equals and value.strip("=") and _NAME.fullmatch(name)
        yield (piece.start() + len(name) + 1 if is_pair else piece.start()), piece.end()


def _is_harmless(name: str, value: str) -> bool:
    return name in _HARMLESS and _PLAIN.fullmatch(value) is not None
