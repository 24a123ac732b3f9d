"""What the audit keeps of one face: a track of the input, or finds that follow each other.

verdict -> exposure | doubt | kept -> a strand of marks, with a shot where each stretch is worst
        -> covered                 -> one shot of all
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mpflow.audit.eyes import Picture
from mpflow.audit.findings import Finding, Mark, finding_of, lasting, stretches
from mpflow.audit.verdicts import Kind, Verdict, kind_of, worst

_CLEARER = 0.05  # so much higher a score or likeness must be for another picture


@dataclass(frozen=True, slots=True)
class Shot:
    """Pictures of a face, of the input (None where it has no frame) and of the output."""

    time: float
    before: Picture | None
    after: Picture


Shoot = Callable[[], Shot]


@dataclass
class Strand:
    """Marks of one kind, in the order of time; ``gap`` seconds without one end a stretch."""

    gap: float
    marks: list[Mark] = field(default_factory=list)
    shots: list[Shot] = field(default_factory=list)
    _shown: Mark | None = None

    def begins(self, time: float) -> bool:
        """Whether a mark at a time would begin a stretch."""
        return not self.marks or time - self.marks[-1].time > self.gap

    def add(self, mark: Mark, shoot: Shoot) -> None:
        """Keep a mark, and a shot where it is the worst of its stretch so far."""
        fresh = self.begins(mark.time)
        self.marks.append(mark)
        if fresh or self._shown is None or _is_worse(mark, self._shown):
            if not fresh:
                self.shots.pop()
            self.shots.append(shoot())
            self._shown = mark

    def findings(self, track: int | None, least: int) -> Iterator[tuple[Finding, Shot | None]]:
        """One for each stretch, with its shot; ``least`` as in ``lasting``."""
        for part in stretches(self.marks, self.gap):
            finding = finding_of(track, lasting(part, least))
            within = (shot for shot in self.shots if finding.start <= shot.time <= finding.end)
            yield finding, next(within, None)


@dataclass
class Subject:
    """One face over time; ``track`` is None for finds that no track explains."""

    track: int | None
    gap: float
    frames: int = 0
    first: float | None = None
    last: float = 0.0
    looks: int = 0
    likeness: float = 0.0
    strands: dict[Kind, Strand] = field(default_factory=dict)
    cover: Shot | None = None
    cover_area: float = 0.0
    _looked: float | None = None

    def seen(self, time: float) -> None:
        """It is there in one more frame."""
        self.first = time if self.first is None else self.first
        self.last = time
        self.frames += 1

    def is_due(self, time: float, every: float, *, exposed: bool) -> bool:
        """Whether to look at who it is: the last look lies ``every`` seconds back, or a stretch in
        which it is exposed begins."""
        if self._looked is None or time - self._looked >= every:
            return True
        strand = self.strands.get(Kind.EXPOSURE)
        return exposed and (strand is None or strand.begins(time))

    def looked(self, time: float, likeness: float) -> None:
        """It was looked at who it is."""
        self._looked = time
        self.looks += 1
        self.likeness = max(self.likeness, likeness)

    def add(self, mark: Mark, shoot: Shoot) -> None:
        """Keep what is held of it in one frame; raises KeyError for a covered one."""
        self.strands.setdefault(kind_of(mark.verdict), Strand(self.gap)).add(mark, shoot)

    def covered(self, area: float, shoot: Shoot) -> None:
        """Nothing was found in a frame; the largest such face is shown."""
        if area > self.cover_area:
            self.cover, self.cover_area = shoot(), area

    def findings(self, least: int = 1) -> Iterator[tuple[Finding, Shot | None]]:
        """Every finding, with its shot; faint ones of fewer than so many frames are doubts."""
        for strand in self.strands.values():
            yield from strand.findings(self.track, least)

    def verdict(self, least: int = 1) -> Verdict:
        """The worst of its findings."""
        return worst(finding.verdict for finding, _ in self.findings(least))


def _is_worse(mark: Mark, shown: Mark) -> bool:
    if mark.verdict is not shown.verdict:
        return worst((mark.verdict, shown.verdict)) is mark.verdict
    more = max(mark.score - shown.score, mark.likeness - shown.likeness)
    return more > _CLEARER
