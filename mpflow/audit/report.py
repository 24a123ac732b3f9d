"""The report of an audit: what was checked and with what, what was found, and what that means."""

from __future__ import annotations

from typing import Any

import msgspec

from mpflow.audit.findings import Finding
from mpflow.audit.order import Order
from mpflow.audit.verdicts import Limits, Verdict
from mpflow.errors import EXIT_DEGRADED, EXIT_EXPOSED, EXIT_OK
from mpflow.policies.identity import People

FORMAT = 1
"""Changes when a reader of the JSON would have to."""


class FileFacts(msgspec.Struct, frozen=True):
    """One of the two videos; ``frames`` were looked at, ``damaged`` packets and frames were not.

    ``beside`` are picture streams that were not looked at: other views, or cover art; ``redacted``
    is what its comment says.
    """

    path: str
    sha256: str
    size: int
    width: int
    height: int
    frames: int = 0
    damaged: int = 0
    beside: int = 0
    redacted: bool = False


class Asked(msgspec.Struct, frozen=True):
    """What was asked for, and so may show: ``people`` as a redaction takes it, with how many there
    are in the gallery, in how many photos; ``spans`` outside of which all may; other faces over
    those of the input. ``start`` and ``stop`` are the input's frames that were compared."""

    people: People = "all"
    persons: int = 0
    photos: int = 0
    spans: str = ""
    replaced: bool = False
    start: int = 0
    stop: int | None = None


class ModelFacts(msgspec.Struct, frozen=True):
    """A model that took part, and as what."""

    role: str
    name: str
    sha256: str


class Timing(msgspec.Struct, frozen=True):
    """How the frames of both go together.

    ``shift`` is by how many seconds the output's clock is ahead; ``lacking`` frames of the input
    have none in the output at their time, ``tail`` of them after its last one; ``extra`` ones of
    the output have none in the input. ``order`` is what the pictures themselves say: SHIFTED where
    they are most like those of the input ``lag`` frames before (below 0: after) the ones at their
    time.
    """

    paired: int
    lacking: int
    extra: int
    shift: float = 0.0
    tail: int = 0
    order: Order = Order.UNKNOWN
    lag: int = 0

    @property
    def is_wrong(self) -> bool:
        """Whether the output's frames were surely compared with others than they were made of."""
        return self.order in (Order.SHIFTED, Order.UNRELATED)

    @property
    def is_unclear(self) -> bool:
        """Whether it may have lost frames and been stamped anew, for all that is known."""
        lost = self.tail > 0 or (self.lacking > 0 and self.shift != 0)
        return lost and self.order is Order.UNKNOWN

    @property
    def is_doubtful(self) -> bool:
        """Whether not every frame of the output was surely compared with its own."""
        return self.extra > 0 or self.is_wrong or self.is_unclear


class TrackFacts(msgspec.Struct, frozen=True):
    """One track of the input: where it is, how often who it is was looked at in the output, the
    highest likeness of those looks, and the worst that was found. Numbers below 0 are faces that no
    track was made of."""

    track: int
    start: float
    end: float
    frames: int
    looks: int
    likeness: float
    verdict: Verdict


class AuditReport(msgspec.Struct, frozen=True):
    """Everything that an audit has to say.

    ``findings`` are exposures; ``doubtful`` finds are for a person to judge, ``kept``
    ones were ``asked`` for. ``every``: seconds between two looks at who a face is. ``mistaken``:
    why these may not be the files that were meant; it is among the ``remarks`` too.
    """

    mpflow: str
    made: str
    input: FileFacts
    output: FileFacts
    asked: Asked
    models: tuple[ModelFacts, ...]
    limits: Limits
    every: float
    timing: Timing
    mistaken: tuple[str, ...]
    remarks: tuple[str, ...]
    findings: tuple[Finding, ...]
    doubtful: tuple[Finding, ...]
    kept: tuple[Finding, ...]
    tracks: tuple[TrackFacts, ...]

    @property
    def exit_status(self) -> int:
        """EXIT_EXPOSED where a face shows, EXIT_DEGRADED where not all could be looked at or
        compared, or the files are not what they are taken for."""
        if self.findings:
            return EXIT_EXPOSED
        output = self.output
        in_part = output.damaged or output.beside or self.timing.is_doubtful or self.mistaken
        return EXIT_DEGRADED if in_part else EXIT_OK

    def as_data(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return {"mpflow_audit": FORMAT, **data, "exit_status": self.exit_status}
