"""What there is to warn of: a cover that is weak, a redaction that covered nobody, or everybody.

The last two may be just what was meant, but a wrong folder of photos, or times counted from another
start, come out the same way, and nobody looks at every frame.
"""

from __future__ import annotations

from mpflow.accounts import LedgerSummary
from mpflow.spec import PipelineSpec

MEASURED_CELLS = 3.0
"""Cells along a face that were measured to hide it, for mosaic and blur (docs/redact.md)."""


def weak_cover(method: str, cells: float) -> str:
    """A sentence on a cover with so many cells along a face, where that hides less than what was
    measured; else empty."""
    if method == "solid" or cells <= MEASURED_CELLS:
        return ""
    kind = "blur" if method == "image" else method
    share = MEASURED_CELLS / cells
    return f"the {kind} has {share:.2g} of the strength measured to hide a face: it may be known"


def cover_warning(spec: PipelineSpec, ledger: LedgerSummary) -> str:
    """A sentence on what a pipeline covered of what it found; empty where there is no doubt."""
    if not ledger.frames:
        return ""  # where nothing came out, that is not why
    people = next((s.options["people"] for s in spec.stages if "people" in s.options), "")
    if not ledger.faces:
        lost = "no face was found in any frame" if spec.privacy else ""
        return f"{lost}: nothing was covered" if lost and people else lost
    if people == "unswapped":
        none_made = ledger.covered and not ledger.open
        return "no face was made: every face was covered" if none_made else ""
    if ledger.open and not ledger.covered:
        found = f"{ledger.faces} faces were found" if ledger.faces > 1 else "1 face was found"
        return f"{found}, and none was covered: {_why_open(people, ledger)}"
    if people == "except" and not ledger.open and ledger.covered:
        return "nobody of the gallery was recognised: every face was covered"
    return ""


def _why_open(people: str, ledger: LedgerSummary) -> str:
    if ledger.left == ledger.frames:
        return "no frame lies within the spans"
    within = " within the spans" if ledger.left else ""
    match people:
        case "only":
            return f"nobody of the gallery was recognised{within}"
        case "except":
            return f"nobody but people of the gallery was seen{within}"
        case _:
            return "no face was seen within the spans"
