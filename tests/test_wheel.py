"""The ladder's wishes and the owner's become one helm; what hides people is never left out."""

from __future__ import annotations

from typing import Any

import pytest

from mpflow.config import resolve
from mpflow.errors import ConfigError, Refused
from mpflow.spec import Helm, PipelineSpec
from mpflow.tokens import Mode
from mpflow.wheel import Wheel


def live(**flags: Any) -> PipelineSpec:
    given = [(key.replace("__", "."), value, "a test") for key, value in flags.items()]
    return resolve("live-redact", flags=given, environ={}).spec


def helm_of(wheel: Wheel, level: int = 0, mode: Mode = Mode.THROUGHPUT) -> Helm:
    return wheel.helm(mode, level, {}, "", {})


def test_the_helm_of_a_run_that_nobody_steers_changes_nothing() -> None:
    helm = helm_of(Wheel(live()))
    assert (helm.skip, helm.notes) == ((), ())
    assert not any(helm.options.values())


def test_rungs_add_up_and_are_named() -> None:
    wheel = Wheel(live(ladder=["detect.every=2", "detect.size=320x192"]))
    assert helm_of(wheel, 1).options == {"detect": {"every": 2}}
    helm = helm_of(wheel, 2)
    assert helm.options == {"detect": {"every": 2, "size": "320x192"}}
    assert helm.notes == ("detect.every=2", "detect.size=320x192")


def test_what_the_owner_sets_wins_over_the_ladder_until_it_is_set_again() -> None:
    wheel = Wheel(live(ladder=["detect.every=3"]))
    assert wheel.set("detect.every", "2") == 2
    assert helm_of(wheel, 1).notes == ("detect.every=2",)
    wheel.set("detect.every", "1")
    helm = helm_of(wheel, 1)
    assert helm.notes == ()  # as it was asked for: no frame of it is degraded
    assert helm.options.get("detect", {}) == {}


def test_threads_that_the_supervisor_gives_are_no_degradation() -> None:
    wheel = Wheel(live())
    wheel.threads["detect"] = 4
    helm = helm_of(wheel)
    assert helm.options == {"detect": {"threads": 4}}
    assert helm.notes == ()


@pytest.mark.parametrize("stage", ["detect", "track", "redact"])
def test_a_private_run_leaves_out_nothing_that_hides_people(stage: str) -> None:
    wheel = Wheel(live())
    with pytest.raises(Refused, match=f"{stage} cannot be left out"):
        wheel.skip(stage)
    with pytest.raises(ConfigError, match="skip"):
        Wheel(live(ladder=[f"skip {stage}"]))


@pytest.mark.parametrize("stage", ["receive", "send"])
def test_the_ends_are_never_left_out(stage: str) -> None:
    spec = resolve("live-passthrough", environ={}).spec
    with pytest.raises(ConfigError, match=stage):
        Wheel(spec).skip(stage)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("detect.model", "x", "cannot be changed while detect runs"),
        ("detect.every", "0", "every"),
        ("detect.size", "33x33", "size"),
        ("detecd.every", "2", "no stage 'detecd'"),
        ("max_latncy", "2", "did you mean max_latency"),
        ("nonsense", "2", "known are: .*detect.every.*max_latency"),
    ],
)
def test_what_cannot_be_set_is_named(key: str, value: str, says: str) -> None:
    wheel = Wheel(live())
    with pytest.raises(ConfigError, match=says):
        wheel.set(key, value)
    assert helm_of(wheel) == helm_of(Wheel(live()))


def test_a_rung_with_a_wrong_value_is_found_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="size"):
        Wheel(live(ladder=["detect.size=huge"]))


def test_only_live_runs_bound_what_waits_for_the_next_stage() -> None:
    single = Mode.SINGLE_FRAME
    assert helm_of(Wheel(live()), mode=single).ahead == {"track": 1}
    assert helm_of(Wheel(live())).ahead == {}
    assert helm_of(Wheel(resolve("redact", environ={}).spec), mode=single).ahead == {}
