"""What an examination comes to: the report, and pictures for the sheet."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mpflow import __version__
from mpflow.audit.claims import claims_of
from mpflow.audit.examination import Examination
from mpflow.audit.findings import Finding
from mpflow.audit.remarks import Seen, mistakes, remarks
from mpflow.audit.report import Asked, AuditReport, FileFacts, ModelFacts, Timing, TrackFacts
from mpflow.audit.subject import Shot, Subject
from mpflow.audit.verdicts import Kind, Verdict, kind_of
from mpflow.audit.wish import Wish
from mpflow.identity.photos import people_in


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
    seen = _seen(basis, len(tracks))
    report = AuditReport(
        mpflow=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        input=basis.source,
        output=basis.target,
        asked=_asked(basis.wish),
        models=basis.models,
        limits=basis.wish.limits,
        every=basis.wish.every,
        timing=basis.timing,
        mistaken=tuple(mistakes(seen)),
        remarks=remarks(seen),
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


def _asked(wish: Wish) -> Asked:
    photos: list[list[Path]] = []
    if wish.gallery is not None:
        with suppress(OSError):  # it was there when it was read
            photos = list(people_in(wish.gallery).values())
    spans = ",".join(span.text for span in wish.spans.spans)
    count = sum(map(len, photos))
    return Asked(wish.people, len(photos), count, spans, wish.replaced, wish.start, wish.stop)


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
