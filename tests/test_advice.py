"""The sentence names the stage that holds the others up, and what would help."""

from __future__ import annotations

import pytest

from mpflow.advice import Load, bottleneck
from mpflow.stage import Stage
from mpflow.stages.decode import Decode
from mpflow.stages.detect import Detect
from mpflow.stages.encode import Encode
from mpflow.stages.faces_json import FacesJson
from mpflow.stages.redact import Redact

DETECT = Load("detect", 0.35, "a GPU would help")


@pytest.mark.parametrize(
    ("loads", "cpu", "live", "sentence"),
    [
        ([], None, False, ""),
        ([Load("decode", 0.0), Load("encode", 0.0)], 0.5, True, ""),
        (
            [DETECT, Load("encode", 0.92, "a faster preset or a hardware encoder would help")],
            1.0,
            False,
            "encode is the limit: 92 % busy; a faster preset or a hardware encoder would help",
        ),
        ([DETECT, Load("mine", 1.0004)], None, True, "mine is the limit: 100 % busy"),
        (
            [DETECT],
            0.97,
            False,
            "the processor is the limit: 97 % in use; detect, the busiest stage, works 35 % of the"
            " time; more cores would help",
        ),
        (
            [DETECT, Load("encode", 0.2)],
            0.5,
            False,
            "no stage alone is the limit: detect, the busiest stage, works 35 % of the time; the"
            " stages wait for each other in turn",
        ),
        (
            [DETECT],
            None,
            True,
            "nothing is near its limit: detect, the busiest stage, works 35 % of the time",
        ),
        (
            [Load("send", 0.6)],
            None,
            True,
            "nothing is at its limit: send, the busiest stage, works 60 % of the time",
        ),
    ],
)
def test_the_sentence(loads: list[Load], cpu: float | None, live: bool, sentence: str) -> None:
    assert bottleneck(loads, cpu=cpu, live=live) == sentence


@pytest.mark.parametrize("stage", [Decode, Detect, Redact, Encode, FacesJson])
def test_every_stage_of_ours_says_what_would_help(stage: type[Stage]) -> None:
    assert stage.advice.endswith("would help")
    assert stage.advice != Stage.advice
