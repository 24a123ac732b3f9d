"""``mpflow run IN OUT``, as cp takes it: without -o the second name would be another input.

An output is not guessed from its place: with several inputs that would cost somebody a film. But
whoever writes that is told before any work is done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mpflow.errors import ConfigError
from mpflow.urls import is_url

_LIKE_AN_OUTPUT = re.compile(
    r"(^|[._ -])(out|output|redacted|covered|blurred|anonymi[sz]ed)\d*([._ -]|$)", re.IGNORECASE
)


def refuse_output_without_flag(paths: Sequence[str]) -> None:
    """Raise ConfigError where the last of several names, without -o, must be meant as the output:
    it is not there, or a result, or is called like one. ``-i`` before each name says that all of
    them are inputs."""
    *others, last = paths
    if not others or is_url(last):
        return
    path = Path(last)
    if not path.exists():
        why = "there is no such file"
    elif not path.is_dir() and _is_result(path):
        why = "it is, or is called like, a result"
    else:
        return
    inputs = " ".join(others)
    raise ConfigError(
        f"without -o, {last!r} would be one more input, and {why}",
        cure=f"name the output with -o: {inputs} -o {last}; or put -i before each input",
    )


def _is_result(path: Path) -> bool:
    sidecar = path.with_name(f"{path.name}.mpflow.json")
    return sidecar.exists() or _LIKE_AN_OUTPUT.search(path.stem) is not None
