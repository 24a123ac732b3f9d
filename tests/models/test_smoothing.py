"""Points that tremble, on motions whose truth is known: no lag, and nothing invented."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from mpflow.models.smoothing import Window, steadied
from mpflow.tokens import Token

Array = npt.NDArray[np.float64]
Motion = Callable[[Array], Array]

FRAMES, EDGE, SIZE = 160, 12, 100.0
BASE = np.random.default_rng(3).random((60, 3)) * SIZE
EACH, TOGETHER = 0.4, 0.25  # pixels by which each point, and the whole mesh, tremble

MOTIONS: dict[str, Motion] = {
    "still": lambda t: 0 * t,
    "steady": lambda t: 4 * t,
    "fast": lambda t: 15 * t,
    "nods": lambda t: 30 * np.sin(2 * np.pi * t / 50),
    "shakes": lambda t: 60 * np.sin(2 * np.pi * t / 25),
    "stops": lambda t: np.minimum(t, 80) * 6,
    "jumps": lambda t: np.where(t > 80, 90.0, 0.0),
}


def takes(motion: Motion) -> tuple[Array, Array]:
    """The true points [n, k, 3] of a motion to the right, and those that tremble."""
    random = np.random.default_rng(7)
    path = motion(np.arange(float(FRAMES)))
    true = BASE + path[:, None, None] * np.array([1.0, 0.3, 0.0])
    noise = random.normal(0, EACH, true.shape) + random.normal(0, TOGETHER, (FRAMES, 1, 3))
    return true, true + noise


def smoothed(found: Array, behind: int, ahead: int) -> Array:
    """What a window makes of the frames that have all of their neighbours."""
    window = Window(behind, ahead)
    for seq, points in enumerate(found):
        window.add(Token("run", seq), 1, points.astype(np.float32))
    return np.array([window.steadied(seq, 1) for seq in range(EDGE, FRAMES - EDGE)], np.float64)


def trembling(off: Array) -> float:
    """By how much the error changes from frame to frame."""
    return float(np.sqrt((np.diff(off, axis=0) ** 2).mean()))


def lag(off: Array, true: Array) -> float:
    """How many frames the points are behind, where they move."""
    inner = true[EDGE : FRAMES - EDGE, :, 0].mean(axis=1)
    speed = np.gradient(inner)
    return float(-(off[:, :, 0].mean(axis=1) * speed).sum() / max((speed**2).sum(), 1e-9))


@pytest.mark.parametrize(("behind", "ahead", "left"), [(3, 3, 0.25), (5, 5, 0.2), (6, 0, 0.6)])
@pytest.mark.parametrize("name", ["still", "steady", "fast"])
def test_trembling_goes_and_a_steady_motion_does_not_lag(
    name: str, behind: int, ahead: int, left: float
) -> None:
    true, found = takes(MOTIONS[name])
    inner = slice(EDGE, FRAMES - EDGE)
    off = smoothed(found, behind, ahead) - true[inner]
    assert trembling(off) < left * trembling(found[inner] - true[inner])
    assert abs(lag(off, true)) < 0.02
    assert np.abs(off.mean(axis=(0, 1))).max() < 0.12


@pytest.mark.parametrize(("behind", "ahead"), [(3, 3), (6, 0)])
@pytest.mark.parametrize("name", ["nods", "shakes", "stops", "jumps"])
def test_a_motion_that_changes_stays_where_it_was_found(name: str, behind: int, ahead: int) -> None:
    """The middle of the mesh is never off by more than two hundredths of its size."""
    true, found = takes(MOTIONS[name])
    off = smoothed(found, behind, ahead) - true[EDGE : FRAMES - EDGE]
    assert np.abs(off.mean(axis=1)).max() < 0.02 * SIZE
    assert abs(lag(off, true)) < 0.1
    assert trembling(off) <= 1.05 * trembling(found - true)


def test_frames_that_come_at_uneven_times_do_not_lag() -> None:
    times = np.cumsum([0, 1, 3, 1, 2, 5, 1]).tolist()
    points = [(BASE + np.array([7.0, 0, 0]) * time).astype(np.float32) for time in times]
    for at in range(len(times)):
        np.testing.assert_allclose(steadied(times, points, at), points[at], atol=1e-3)


def test_few_frames_are_left_as_they_are() -> None:
    points = [BASE.astype(np.float32), (BASE + 1).astype(np.float32)]
    assert steadied([0], points[:1], 0) is points[0]
    assert steadied([0, 1], points, 1) is points[1]


def test_a_track_is_steadied_by_its_own_frames_only() -> None:
    window = Window(3, 3)
    for seq in range(7):
        window.add(Token("run", seq), 1, (BASE + seq).astype(np.float32))
        window.add(Token("run", seq), 2, (BASE - 5 * seq).astype(np.float32))
    np.testing.assert_allclose(window.steadied(3, 1), BASE + 3, atol=1e-3)
    np.testing.assert_allclose(window.steadied(3, 2), BASE - 15, atol=1e-3)


def test_what_no_frame_needs_is_forgotten() -> None:
    window = Window(2, 1)
    for seq in range(50):
        window.add(Token("run", seq), seq // 10, BASE.astype(np.float32))
        window.forget_before(seq)
    assert {track: sorted(seen) for track, seen in window._tracks.items()} == {4: [47, 48, 49]}
