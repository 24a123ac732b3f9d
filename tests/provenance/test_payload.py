"""What the mark says comes through damage, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from mpflow.provenance.payload import CODED_BITS, KINDS, RUNS, Payload, coded, decoded

PAYLOADS = [Payload(kind, run) for kind in KINDS for run in (0, 1, 0x1234, RUNS - 1)]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_was_said_is_read(payload: Payload) -> None:
    word = coded(payload)
    assert word.shape == (CODED_BITS,)
    assert set(word.tolist()) == {-1.0, 1.0}
    assert decoded(word) == decoded(word * np.float32(0.01)) == payload


def test_what_is_unsure_is_outvoted_by_what_is_sure() -> None:
    random = np.random.default_rng(3)
    payload = Payload("composite", 40_000)
    for _ in range(50):
        word = coded(payload) + random.normal(0, 0.9, CODED_BITS)  # an eighth of them wrong
        assert decoded(word.astype(np.float32)) == payload


def test_noise_says_nothing() -> None:
    random = np.random.default_rng(4)
    words = random.normal(0, 1, (500, CODED_BITS)).astype(np.float32)
    assert not [word for word in words if decoded(word)]
    assert decoded(np.zeros(CODED_BITS, np.float32)) is None
    assert decoded(np.ones(CODED_BITS, np.float32)) is None


def test_another_version_is_not_taken_for_this_one() -> None:
    assert decoded(coded(Payload("composite", 7, version=2))) is None


def test_the_code_stays_as_it_is() -> None:
    """Marks that are out there have to be readable for ever."""
    assert "".join("01"[bit > 0] for bit in coded(Payload("generated", 513))[:30].tolist()) == (
        "000111011101000010001100010101"
    )
