"""What the audit keeps of one face: a track of the input, or finds that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mpflow.audit.eyes import Picture
from mpflow.audit.findings import Finding, Mark, finding_of, stretches
from mpflow.audit.verdicts import EXPOSED, Verdict, worst

_CLEARER = 0.05  # so much higher a score or likeness must be for another picture


@dataclass(frozen=True, slots=True)
class Shot:
    """Pictures of a face, of the input (None where it has no frame) and of the output."""

    frame: int
    time: float
    before: Picture | None
    after: Picture


@dataclass
class Subject:
    """One face over time. ``kept`` marks are of a face that is left open as asked.

    Marks come in the order of time. Of each stretch one shot is kept, where it is worst; ``cover``
    is one of a frame in which nothing was found.
    """

    track: int | None
    gap: float
    frames: int = 0
    first: float | None = None
    last: float = 0.0
    samples: int = 0
    likeness: float = 0.0
    sampled: float | None = None
    marks: list[Mark] = field(default_factory=list)
    kept: list[Mark] = field(default_factory=list)
    shots: list[Shot] = field(default_factory=list)
    cover: Shot | None = None
    cover_area: float = 0.0
    _shown: Mark | None = None

    def seen(self, time: float) -> None:
        """It is there in one more frame."""
        self.first = time if self.first is None else self.first
        self.last = time
        self.frames += 1

    def is_due(self, time: float, every: float) -> bool:
        """Whether the last look at who it is lies ``every`` seconds back."""
        return self.sampled is None or time - self.sampled >= every

    def begins(self, time: float) -> bool:
        """Whether a mark at a time would begin a stretch."""
        last = max((marks[-1].time for marks in (self.marks, self.kept) if marks), default=None)
        return last is None or time - last > self.gap

    def add(self, mark: Mark, shoot: Callable[[], Shot]) -> None:
        """Keep a mark, and a shot where it is the worst of its stretch so far."""
        fresh = self.begins(mark.time)
        (self.kept if mark.verdict is Verdict.KEPT else self.marks).append(mark)
        if fresh or self._shown is None or _is_worse(mark, self._shown):
            if not fresh and self.shots:
                self.shots.pop()
            self.shots.append(shoot())
            self._shown = mark

    def findings(self) -> Iterator[Finding]:
        """One for each stretch, those that are kept last."""
        for marks in (self.marks, self.kept):
            for part in stretches(marks, self.gap):
                yield finding_of(self.track, part)

    def shot_of(self, finding: Finding) -> Shot | None:
        """The shot of a stretch."""
        within = [s for s in self.shots if finding.start <= s.time <= finding.end]
        return within[0] if within else None

    @property
    def verdict(self) -> Verdict:
        """The worst that was found."""
        return worst(mark.verdict for mark in (*self.marks, *self.kept))


def _is_worse(mark: Mark, shown: Mark) -> bool:
    if mark.verdict is not shown.verdict:
        return mark.verdict in EXPOSED and worst((mark.verdict, shown.verdict)) is mark.verdict
    more = max(mark.score - shown.score, mark.likeness - shown.likeness)
    return more > _CLEARER
