"""Real processes, each killed before one store: all slots accounted for, all frames delivered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpflow.shm.steps import STEPS

SCRIPT = Path(__file__).with_name("kill_every_store.py")


@pytest.fixture(scope="module")
def told() -> dict[str, list[tuple[str, str]]]:
    """For each script its steps in order, each with what went wrong after a kill before it."""
    # one thread, so that the helper may fork
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_kill_before_any_store_loses_no_slot_and_no_frame(told) -> None:
    faults = [
        f"{script}, store {place} ({step}): {fault}"
        for script, steps in told.items()
        for place, (step, fault) in enumerate(steps)
        if fault
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", STEPS)
def test_every_step_of_the_table_was_reached_and_killed_at(told, name: str) -> None:
    assert any(step == name for steps in told.values() for step, _ in steps)


def test_no_store_has_a_name_outside_the_table(told) -> None:
    assert {step for steps in told.values() for step, _ in steps} <= set(STEPS)


def test_the_order_of_the_stores_is_the_one_that_was_checked(told) -> None:
    """The exhaustive check walks its processes through these very orders."""
    publish = [step for step, _ in told["the source publishes"]]
    assert " ".join(publish[:9]) == "L1 A1 L2 G0 G1 L1 P1 P2 L2"
    assert " ".join(publish[-6:]) == "L1 E1 L2 B1 B1 B1"
    edit = [step for step, _ in told["a stage edits and gives"]]
    assert " ".join(edit[:12]) == "L1 T1 L2 K1 J1 J2 G1 L1 G2 L2 J4 B1"
    undo = [step for step, _ in told["a stage takes its work back"]]
    assert " ".join(undo[:6]) == "UP UK U1 K1 J1 J2"
    drop = [step for step, _ in told["a stage drops what it holds"]]
    assert " ".join(drop[:5]) == "L1 D0 F1 L2 J4"
    assert " ".join(step for step, _ in told["a stage sheds"][:4]) == "L1 S0 S1 L2"
    lost = [step for step, _ in told["a live sink is recovered"]]
    assert " ".join(lost[:4]) == "L1 R4D R4W L2"
    write = [step for step, _ in told["the sink writes and frees"]]
    assert " ".join(write[:8]) == "L1 T1 L2 B1 L1 F1 L2 B1"
