"""The report of an audit in words: what was checked with what, a row a finding, and what it means.

time             frames    track  verdict       score  likeness  detail
0:01.76          44        0      visible        0.66         -       -
0:04.00-0:04.08  100-102   1      unchanged         -         -    0.99
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mpflow.accounts import counted
from mpflow.audit.findings import Finding
from mpflow.audit.verdicts import MEANINGS, Verdict
from mpflow.audit.words import span

if TYPE_CHECKING:
    from mpflow.audit.report import Asked, AuditReport, FileFacts

MOST_ROWS = 100
_LONGEST_FRAMES = 28
_HEADING = ("time", "frames", "track", "verdict", "score", "likeness", "detail")


def report_lines(report: AuditReport) -> Iterator[str]:
    """The whole report."""
    yield from _statement(report)
    for title, findings in (
        ("faces that show", report.findings),
        ("doubtful: look at them (--sheet)", report.doubtful),
        ("allowed, as asked", report.kept),
    ):
        if findings:
            yield ""
            yield f"{title}:"
            yield from _table(findings)
    yield ""
    yield from _meanings(report)
    yield _verdict(report)


def _statement(report: AuditReport) -> Iterator[str]:
    limits = report.limits
    yield f"audit by mpflow {report.mpflow}, {report.made}"
    yield from _file("input", report.input)
    yield from _file("output", report.output)
    for model in report.models:
        yield f"  {model.role}: {model.name}, sha256 {model.sha256}"
    yield (
        f"  limits: score {limits.score:g}, one person from likeness {limits.same:g}, detail"
        f" {limits.detail:g}; recognition was tried every {report.every:g} s of each track"
    )
    timing = report.timing
    tracks = counted(len(report.tracks), "track")
    yield f"  compared: {counted(timing.paired, 'frame')} of both, {tracks} of faces in the input"
    yield f"  allowed to show: {'; '.join(_allowed(report.asked)) or 'nobody'}"
    for remark in report.remarks:
        yield f"  note: {remark}"


def _allowed(asked: Asked) -> Iterator[str]:
    """What may show because somebody asked for it: whoever signs the report signs that too."""
    gallery = f"of a gallery ({counted(asked.photos, 'photo')})"
    people = "the one person" if asked.persons == 1 else f"the {asked.persons} people"
    if asked.people == "except":
        yield f"{people} {gallery}, by --keep"
    elif asked.people == "only":
        yield f"whoever is surely none of {people} {gallery}, by --only"
    if asked.spans:
        yield f"everybody outside of --spans {asked.spans}"
    if asked.replaced:
        yield "other faces over those of the input, by --replaced"


def _file(name: str, file: FileFacts) -> Iterator[str]:
    yield f"  {name}: {file.path}, {file.width}x{file.height}, {counted(file.frames, 'frame')}"
    yield f"    sha256 {file.sha256}, {counted(file.size, 'byte')}"


def _table(findings: Sequence[Finding]) -> Iterator[str]:
    rows = [_HEADING, *(_row(finding) for finding in findings[:MOST_ROWS])]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADING))]
    for row in rows:
        pairs = zip(row, widths, strict=True)
        cells = [
            text.rjust(width) if at > 3 else text.ljust(width)
            for at, (text, width) in enumerate(pairs)
        ]
        yield f"  {'  '.join(cells)}".rstrip()
    if len(findings) > MOST_ROWS:
        yield f"  and {len(findings) - MOST_ROWS} more: --json or --report has all"


def _row(finding: Finding) -> tuple[str, ...]:
    frames = finding.frames
    if len(frames) > _LONGEST_FRAMES:
        cut = frames[:_LONGEST_FRAMES].rpartition(",")[0]
        frames = f"{cut},... ({finding.count})"
    extra = " (of the output)" if finding.extra else ""
    values = (finding.score, finding.likeness, finding.detail)
    return (
        span(finding.start, finding.end),
        f"{frames}{extra}",
        "-" if finding.track is None else str(finding.track),
        str(finding.verdict),
        *(f"{value:.2f}" if value else "-" for value in values),
    )


def _meanings(report: AuditReport) -> Iterator[str]:
    rows = (*report.findings, *report.doubtful, *report.kept)
    there = {Verdict(verdict) for finding in rows for verdict in finding.verdicts}
    for verdict in Verdict:
        if verdict in there:
            yield f"{verdict}: {MEANINGS[verdict]}"


def _verdict(report: AuditReport) -> str:
    rows = report.findings
    if not rows:
        asked = " but those that were allowed" if report.kept else ""
        unseen = "".join(_unseen(report))
        return f"no face shows in the output{asked}{unseen}"
    tracks = {finding.track for finding in rows if finding.track is not None}
    of = f" of {counted(len(tracks), 'track')}" if tracks else ""
    return f"FACES SHOW: {counted(len(rows), 'finding')}{of}"


def _unseen(report: AuditReport) -> Iterator[str]:
    output, timing = report.output, report.timing
    if output.damaged:
        yield "; what is damaged was not seen"
    if output.beside:
        yield f"; {counted(output.beside, 'more picture stream')} of it went unseen"
    if timing.is_wrong or timing.is_unclear:
        yield "; frames may have been compared with other frames than they were made of"
    if timing.extra:
        yield f"; {counted(timing.extra, 'frame')} could not be compared"
    if report.mistaken:
        yield "; but these may not be the files that were meant"
