"""What an option takes, in words a person can use: ``blur, mosaic or solid``, ``0 to 2``.

Made from the types of a stage's ``Options``, so that no table has to be kept beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import inspect

_PLAIN: dict[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.StrType: "text",
    inspect.NoneType: "null",
    inspect.DictType: "a mapping (KEY.NAME=VALUE sets one entry)",
}

Described = tuple[str, Any, str]


def describe_options(options: type[msgspec.Struct]) -> list[Described]:
    """(key, default, what it takes) of every option, in their order."""
    info = inspect.type_info(options)
    assert isinstance(info, inspect.StructType)
    return [(field.encode_name, _default(field), describe(field.type)) for field in info.fields]


def describe_field(options: type[msgspec.Struct], key: str) -> str:
    """What one option takes; empty for a key that is none."""
    return next((words for name, _, words in describe_options(options) if name == key), "")


def takes_text(options: type[msgspec.Struct], key: str) -> bool:
    """Whether an option is plain text, so that 640 means "640"."""
    info = inspect.type_info(options)
    assert isinstance(info, inspect.StructType)
    kinds = {field.encode_name: field.type for field in info.fields}
    kind = kinds.get(key)
    return isinstance(kind.type if isinstance(kind, inspect.Metadata) else kind, inspect.StrType)


def describe(kind: inspect.Type) -> str:
    """A type in words."""
    words = _PLAIN.get(type(kind), "a value")
    match kind:
        case inspect.Metadata(type=inspect.StrType(), extra_json_schema={"examples": examples}):
            words = f"text like {_any_of(examples)}"
        case inspect.Metadata():
            words = describe(kind.type)
        case inspect.LiteralType():
            words = _any_of([str(value) for value in kind.values])
        case inspect.IntType() | inspect.FloatType():
            words = _number(kind)
        case inspect.StrType() if kind.pattern:
            words = f"text like {kind.pattern}"
        case inspect.UnionType():
            words = " or ".join(describe(each) for each in kind.types)
        case inspect.VarTupleType() | inspect.ListType():
            words = f"a list of {describe(kind.item_type)}"
    return words


def _number(kind: inspect.IntType | inspect.FloatType) -> str:
    noun = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
    low = kind.ge if kind.ge is not None else kind.gt
    high = kind.le if kind.le is not None else kind.lt
    if low is not None and high is not None:
        between = "between" if kind.gt is not None or kind.lt is not None else "from"
        return f"{noun} {between} {low:g} {'and' if between == 'between' else 'to'} {high:g}"
    if low is not None:
        return f"{noun}, {'more than' if kind.gt is not None else 'at least'} {low:g}"
    if high is not None:
        return f"{noun}, {'less than' if kind.lt is not None else 'at most'} {high:g}"
    return noun


def _any_of(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _default(field: inspect.Field) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return None
