"""What is wrong with a description, in words: which key, and which it may have been meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from mpflow.describe import describe_field

_ALL_KEYS = "docs/models.md has every key"
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")


def in_words(
    error: msgspec.ValidationError, data: dict[str, Any], kind: type[msgspec.Struct]
) -> tuple[str, str]:
    """What is wrong, and the cure; msgspec's own message ends in the place: `` - at `$.key` ``."""
    what, _, place = str(error).partition(" - at `$")
    at = place.rstrip("`").removeprefix(".")
    if (unknown := _UNKNOWN.fullmatch(what)) is not None:
        return f"unknown key {_key(at, unknown[1])}", _nearest(unknown[1], kind)
    if (missing := _MISSING.fullmatch(what)) is not None:
        return f"the key {_key(at, missing[1])} is missing", _ALL_KEYS
    if what.startswith(("Expected ", "Invalid enum value")):
        takes = describe_field(kind, at)
        return f"{at}: {_value(data, at)}", f"{at} takes {takes}" if takes else _ALL_KEYS
    return f"{at}: {what}" if at else what, _ALL_KEYS


def _key(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _value(data: Any, at: str) -> str:
    """The value that stands there, as far as the place leads to one."""
    for part in at.split("."):
        if not isinstance(data, dict) or part not in data:
            return "it has a value that it does not take"
        data = data[part]
    return f"{data!r} is not what it takes"


def _nearest(name: str, kind: type[msgspec.Struct]) -> str:
    near = difflib.get_close_matches(name, set(_keys(inspect.type_info(kind))), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(near)}? {_ALL_KEYS}" if near else _ALL_KEYS


def _keys(kind: inspect.Type) -> Iterator[str]:
    """The names of all keys, those of mappings within included."""
    match kind:
        case inspect.StructType():
            for field in kind.fields:
                yield field.encode_name
                yield from _keys(field.type)
        case inspect.Metadata():
            yield from _keys(kind.type)
        case inspect.UnionType():
            for each in kind.types:
                yield from _keys(each)
