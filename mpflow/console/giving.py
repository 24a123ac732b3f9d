"""Flags given to a command as a list, so that several commands can share some."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def give(command: F, options: Iterable[Callable[[Any], Any]]) -> F:
    """Give a command arguments and flags, in this order."""
    return reduce(lambda so_far, option: option(so_far), reversed(list(options)), command)
