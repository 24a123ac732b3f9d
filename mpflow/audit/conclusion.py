"""What an examination comes to: the report, and pictures for the sheet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from mpflow import __version__
from mpflow.audit.examination import Examination
from mpflow.audit.findings import Finding
from mpflow.audit.remarks import Seen, remarks
from mpflow.audit.report import AuditReport, FileFacts, ModelFacts, Timing, TrackFacts
from mpflow.audit.subject import Shot, Subject
from mpflow.audit.verdicts import EXPOSED, Verdict
from mpflow.audit.wish import Wish


@dataclass(frozen=True, slots=True)
class Basis:
    """What was compared, with what."""

    wish: Wish
    source: FileFacts
    target: FileFacts
    models: tuple[ModelFacts, ...]
    timing: Timing


@dataclass(frozen=True, slots=True)
class Result:
    """The report; its findings in their order with a picture of each, as far as there is one; and
    a picture of each track in which nothing was found."""

    report: AuditReport
    shots: tuple[tuple[Finding, Shot | None], ...]
    covers: tuple[tuple[TrackFacts, Shot], ...]


def conclude(examination: Examination, basis: Basis) -> Result:
    """Sort what was found, and put it beside what was compared."""
    tracks = dict(sorted(examination.tracks.items()))
    rows = sorted(
        _rows([*tracks.values(), *examination.strays.values()]), key=lambda row: row[0].start
    )
    shots = tuple(row for kind in _ORDER for row in rows if row[0].verdict in kind)
    exposed, doubtful, kept = (
        tuple(finding for finding, _ in rows if finding.verdict in kind) for kind in _ORDER
    )
    facts = {number: _facts(number, subject) for number, subject in tracks.items()}
    report = AuditReport(
        mpflow=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        input=basis.source,
        output=basis.target,
        models=basis.models,
        limits=basis.wish.limits,
        every=basis.wish.every,
        timing=basis.timing,
        remarks=remarks(Seen(basis.source, basis.target, basis.timing, len(tracks))),
        findings=exposed,
        doubtful=doubtful,
        kept=kept,
        tracks=tuple(facts.values()),
    )
    covers = tuple(
        (facts[number], subject.cover)
        for number, subject in tracks.items()
        if subject.cover is not None and subject.verdict is Verdict.COVERED
    )
    return Result(report, shots, covers)


_ORDER = (EXPOSED, frozenset({Verdict.DOUBTFUL}), frozenset({Verdict.KEPT}))


def _rows(subjects: list[Subject]) -> Iterator[tuple[Finding, Shot | None]]:
    for subject in subjects:
        for finding in subject.findings():
            yield finding, subject.shot_of(finding)


def _facts(number: int, subject: Subject) -> TrackFacts:
    return TrackFacts(
        number,
        subject.first or 0.0,
        subject.last,
        subject.frames,
        subject.samples,
        subject.likeness,
        subject.verdict,
    )
