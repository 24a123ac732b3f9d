"""What an examination comes to: the report, and pictures for the sheet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from mpflow import __version__
from mpflow.audit.claims import claims_of
from mpflow.audit.examination import Examination
from mpflow.audit.findings import Finding
from mpflow.audit.remarks import Seen, remarks
from mpflow.audit.report import AuditReport, FileFacts, ModelFacts, Timing, TrackFacts
from mpflow.audit.subject import Shot, Subject
from mpflow.audit.verdicts import Kind, Verdict, kind_of
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
    subjects = (*tracks.values(), *examination.strays.values())
    least = basis.wish.limits.lasting
    rows = sorted(
        (row for subject in subjects for row in subject.findings(least)),
        key=lambda row: row[0].start,
    )
    kinds = [[row for row in rows if kind_of(row[0].verdict) is kind] for kind in Kind]
    exposed, doubtful, kept = (tuple(finding for finding, _ in kind) for kind in kinds)
    facts = {number: _facts(number, subject, least) for number, subject in tracks.items()}
    report = AuditReport(
        mpflow=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        input=basis.source,
        output=basis.target,
        models=basis.models,
        limits=basis.wish.limits,
        every=basis.wish.every,
        timing=basis.timing,
        remarks=remarks(_seen(basis, len(tracks))),
        findings=exposed,
        doubtful=doubtful,
        kept=kept,
        tracks=tuple(facts.values()),
    )
    covers = tuple(
        (facts[number], subject.cover)
        for number, subject in tracks.items()
        if subject.cover is not None and facts[number].verdict is Verdict.COVERED
    )
    return Result(report, tuple(row for kind in kinds for row in kind), covers)


def _seen(basis: Basis, tracks: int) -> Seen:
    claims = claims_of(basis.wish.target)
    return Seen(basis.source, basis.target, basis.timing, tracks, basis.wish, claims)


def _facts(number: int, subject: Subject, least: int) -> TrackFacts:
    return TrackFacts(
        number,
        subject.first or 0.0,
        subject.last,
        subject.frames,
        subject.looks,
        subject.likeness,
        subject.verdict(least),
    )
