"""What the doctor says of a machine that has little: what works there still, and what does not."""

from __future__ import annotations

import pytest

from mpflow import doctor
from mpflow.doctor import MIB, Check, Verdict
from mpflow.shm import Geometry, NoSpace, Segment


def shared_memory(monkeypatch: pytest.MonkeyPatch, mib: int) -> Check:
    """The check on a machine with so much free."""
    monkeypatch.setattr(doctor, "shared_memory_free", lambda: mib * MIB)
    (check,) = [check for check in doctor.examine() if check.name == "shared memory"]
    return check


@pytest.fixture(autouse=True)
def only_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = {"shared memory": doctor._CHECKS["shared memory"]}
    monkeypatch.setattr(doctor, "_CHECKS", checks)


@pytest.mark.parametrize(
    ("mib", "verdict", "status"),
    [(400, Verdict.OK, 0), (64, Verdict.WARN, 0), (20, Verdict.WARN, 0), (1, Verdict.FAIL, 6)],
)
def test_little_shared_memory_is_a_warning_while_small_pictures_fit(
    monkeypatch: pytest.MonkeyPatch, mib: int, verdict: Verdict, status: int
) -> None:
    check = shared_memory(monkeypatch, mib)
    assert check.verdict is verdict, check
    assert doctor.exit_status([check]) == status


def test_the_warning_says_what_each_size_of_picture_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shared_memory(monkeypatch, 20).text
    assert text.startswith("20 MiB are free in /dev/shm, 18 of them for a run")
    for picture in ("720p", "1080p", "4K"):
        assert f"for {picture} and likes " in text


def test_memory_that_another_program_takes_meanwhile_is_a_warning_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(geometry: Geometry) -> Segment:
        raise NoSpace(needed=geometry.total_bytes, available=0)

    monkeypatch.setattr(Segment, "create", full)
    assert shared_memory(monkeypatch, 400).verdict is Verdict.WARN
