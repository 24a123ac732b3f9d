"""What was found in a video, in words: faces, and where it is known their tracks and people."""

from __future__ import annotations

from collections.abc import Iterator

from mpflow.accounts import LedgerSummary, counted
from mpflow.report import Report
from mpflow.spec import SinkSummary


def face_words(report: Report) -> str:
    """``120 faces in 40 of them: 3 tracks of 2 people``; where faces are covered ``120 faces found
    in 40 of them, 80 covered``. Those of a stream are also in frames that were not delivered."""
    if not report.live:
        ledger = report.ledger or LedgerSummary()
        return found_words(report, ledger) + _tracks(report)
    faces, frames = counted(report.faces, "face"), report.frames_with_faces
    return f"{faces} found in {counted(frames, 'frame')}{_covered(report.ledger)}"


def found_words(found: Report | SinkSummary, ledger: LedgerSummary) -> str:
    """How many faces are in how many frames, and how many of them were covered."""
    covered = _covered(ledger)
    verb = " found" if covered else ""
    return f"{counted(found.faces, 'face')}{verb} in {found.frames_with_faces} of them{covered}"


def ledger_words(ledger: LedgerSummary) -> Iterator[str]:
    """What became of frames that were not delivered as asked, and of those to be left alone."""
    if words := ledger.words():
        yield words
    if ledger.left:
        yield f"{counted(ledger.left, 'frame')} outside of the spans left as they are"
    if ledger.drifted:
        yield f"{counted(ledger.drifted, 'frame')} with a made face that is not like its source"


def _covered(ledger: LedgerSummary | None) -> str:
    """Where a stage covers faces, how many it has covered."""
    if ledger is None or not (ledger.covered or ledger.open):
        return ""
    return f", {ledger.covered} covered"


def _tracks(report: Report) -> str:
    """How many tracks and people they are, where the last stage has told."""
    facts = report.stages[-1].facts if report.stages else {}
    if "tracks" not in facts:
        return ""
    people = facts.get("people")
    whose = f" of {people} {'person' if people == 1 else 'people'}" if people else ""
    return f": {counted(facts['tracks'], 'track')}{whose}"
