"""Reports of audits, made up."""

from __future__ import annotations

from typing import Any

import msgspec

from mpflow.audit.findings import Finding, Mark, finding_of
from mpflow.audit.report import Asked, AuditReport, FileFacts, ModelFacts, Timing, TrackFacts
from mpflow.audit.verdicts import Limits, Verdict

FILE = FileFacts("in.mp4", "a" * 64, 1000, 160, 120, 50)
OUTPUT = FileFacts("out.mp4", "b" * 64, 900, 160, 120, 50)


def finding(
    frames: list[int], verdict: Verdict = Verdict.VISIBLE, track: int | None = 0, **values: Any
) -> Finding:
    """A finding in these frames, 25 a second."""
    box = (1.0, 2.0, 30.0, 40.0)
    return finding_of(track, [Mark(each, each / 25, box, verdict, **values) for each in frames])


def report(**values: Any) -> AuditReport:
    """A report of an audit that found nothing, but for what is given."""
    clean = AuditReport(
        mpflow="0.1",
        made="2030-01-02T03:04:05+00:00",
        input=FILE,
        output=OUTPUT,
        asked=Asked(),
        models=(ModelFacts("embedder", "sface", "c" * 64),),
        limits=Limits(),
        every=0.5,
        timing=Timing(50, 0, 0),
        mistaken=(),
        remarks=(),
        findings=(),
        doubtful=(),
        kept=(),
        tracks=(TrackFacts(0, 0.0, 1.96, 50, 4, 0.21, Verdict.COVERED),),
    )
    return msgspec.structs.replace(clean, **values)
