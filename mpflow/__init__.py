"""mpflow: a face-video pipeline for machines without a screen.

One process per stage, frames in shared memory, and a supervisor that watches. Names are loaded
when they are first used, so importing the package is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mpflow._version import __version__

if TYPE_CHECKING:
    from mpflow.errors import MpflowError as MpflowError
    from mpflow.frame import Frame as Frame
    from mpflow.pipeline import Pipeline as Pipeline
    from mpflow.pipeline import run as run
    from mpflow.report import Report as Report
    from mpflow.spec import RunSpec as RunSpec
    from mpflow.tokens import Face as Face
    from mpflow.tokens import Token as Token

_HOMES = {
    "Face": "mpflow.tokens",
    "Frame": "mpflow.frame",
    "MpflowError": "mpflow.errors",
    "Pipeline": "mpflow.pipeline",
    "Report": "mpflow.report",
    "RunSpec": "mpflow.spec",
    "Token": "mpflow.tokens",
    "run": "mpflow.pipeline",
}

__all__ = [
    "Face",
    "Frame",
    "MpflowError",
    "Pipeline",
    "Report",
    "RunSpec",
    "Token",
    "__version__",
    "run",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mpflow' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
