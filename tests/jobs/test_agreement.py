"""What the marks of a video say together, and where they cannot all be right."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from mpflow.jobs.agreement import (
    Evidence,
    Made,
    Sidecar,
    contradictions,
    remarks,
    statements,
)
from mpflow.provenance.declared import Declared
from mpflow.provenance.gb45438 import ImplicitLabel, new_label
from mpflow.provenance.iptc import SCHEME, SourceType
from mpflow.provenance.reading import Found
from mpflow.spec import MADE, REDACTED, REDACTED_IN_PART

COMPOSITE = SourceType.COMPOSITE.uri
LABEL = new_label("mpflow")
BOTH = f"{REDACTED_IN_PART}; {MADE}"
DECLARED = Declared("mov", f"a day at sea; {BOTH}", COMPOSITE, LABEL, COMPOSITE, LABEL)
SIDECAR = Sidecar(1, BOTH, made=Made("composite", COMPOSITE), is_about_file=True)
MARK = Found(1, "composite", 7, 3.0, 100)
WHOLE = Evidence(DECLARED, SIDECAR, MARK)
NOTHING = Evidence(Declared("mov", "a day at sea"), None, None)
STREAM = Declared("mpegts")


def changed(evidence: Evidence = WHOLE, **facts: object) -> Evidence:
    """The same evidence, with other metadata."""
    return replace(evidence, declared=msgspec.structs.replace(evidence.declared, **facts))


def test_marks_that_are_all_there_agree() -> None:
    assert list(contradictions(WHOLE)) == []
    assert list(remarks(WHOLE)) == []
    assert list(statements(WHOLE)) == ["redacted in part", "synthetic"]


@pytest.mark.parametrize(
    ("evidence", "says"),
    [
        (NOTHING, []),
        (changed(NOTHING, comment=REDACTED), ["redacted"]),
        (changed(NOTHING, source_type=f"{SCHEME}digitalCapture"), []),
        (changed(NOTHING, source_type=COMPOSITE), ["synthetic"]),
        (changed(NOTHING, label=LABEL), ["synthetic"]),
        (changed(NOTHING, label=ImplicitLabel("2", "a", "b")), []),
        (replace(NOTHING, mark=MARK), ["synthetic"]),
        (Evidence(STREAM, SIDECAR, None), ["redacted in part", "synthetic"]),
        (Evidence(STREAM, SIDECAR, MARK), ["redacted in part", "synthetic"]),
        (changed(NOTHING, comment=f"{REDACTED}; {BOTH}"), ["redacted in part", "synthetic"]),
    ],
)
def test_what_is_left_of_them_is_said_and_contradicts_nothing(
    evidence: Evidence, says: list[str]
) -> None:
    assert list(statements(evidence)) == says
    assert list(contradictions(evidence)) == []


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (replace(WHOLE, sidecar=msgspec.structs.replace(SIDECAR, is_about_file=False)), "another"),
        (replace(WHOLE, sidecar=Sidecar(0)), "is none"),
        (replace(WHOLE, declared=Declared("matroska")), "its metadata do not say so"),
        (changed(comment=f"{REDACTED}; {MADE}"), "all was redacted"),
        (changed(source_type=SourceType.EDITED.uri), "several digital source types"),
        (changed(source_type=f"{SCHEME}digitalCapture", packet_source_type=""), "digitalCapture"),
        (changed(packet_label=new_label("mpflow")), "several labels"),
        (changed(label=ImplicitLabel("9", "a", "b"), packet_label=None), "lacks a label"),
        (replace(WHOLE, mark=msgspec.structs.replace(MARK, kind="generated")), "invisible mark"),
        (
            replace(changed(source_type=SourceType.EDITED.uri, packet_source_type=""), mark=None),
            "by its sidecar it is compositeSynthetic",
        ),
    ],
)
def test_marks_that_cannot_all_be_right_are_named(evidence: Evidence, said: str) -> None:
    assert any(said in text for text in contradictions(evidence))


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (replace(NOTHING, mark=MARK), "only the picture tells"),
        (replace(WHOLE, mark=None), "no invisible mark was found"),
        (changed(NOTHING, source_type=COMPOSITE), "something else than mpflow"),
        (changed(NOTHING, comment=MADE), "some of the metadata were lost"),
        (replace(WHOLE, sidecar=msgspec.structs.replace(SIDECAR, mpflow_sidecar=2)), "newer"),
    ],
)
def test_what_is_missing_is_remarked(evidence: Evidence, said: str) -> None:
    assert any(said in text for text in remarks(evidence))
