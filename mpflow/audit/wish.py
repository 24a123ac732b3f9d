"""What an audit is asked for, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mpflow.audit.verdicts import Limits
from mpflow.jobs.models import AUDIT
from mpflow.policies.identity import People
from mpflow.spans import Spans

FIRST, SECOND, EMBEDDER = AUDIT
"""Models by name: the detectors of the input and of the output, and who tells faces apart."""

CLOSE = 960
"""How many pixels along its longer side a picture that is looked at has, unless a size is given."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Two files, and how they are compared.

    Frames ``start`` up to ``stop`` of the input are those that the output was made of, and faces
    within ``spans`` (of the input) are to be covered: all, all ``except`` those of the ``gallery``,
    or ``only`` those; with ``replaced`` other faces may have been put over them. ``every``: seconds
    between two looks at who a face is. ``size`` is that of the pictures the detectors look at,
    ``workers`` how many processes detect, for each file.
    """

    source: Path
    target: Path
    people: People = "all"
    gallery: Path | None = None
    spans: Spans = field(default_factory=Spans)
    replaced: bool = False
    limits: Limits = field(default_factory=Limits)
    every: float = 0.5
    size: str = "auto"
    start: int = 0
    stop: int | None = None
    device: str = "auto"
    workers: int | str = 1
    offline: bool = False
