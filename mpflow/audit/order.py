"""Whether the frames that are compared were made of one another. Pure: small pictures in.

Time stamps can be written anew: a film that was cut and stamped again would be held against other
frames than those it was made of, and faces be looked for where they are not. So each picture is
held against those that came before it in the other film, too.

    input    0 1 2 3 4 5 6 7      each of the output is most like its own: IN_ORDER
    output   0 1 2 3 4 5          each is most like the second one after its own: SHIFTED, by 2
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

REACH = 250
"""How many frames back a picture is held against others."""

_LEAST_PAIRS = 10
_NEIGHBOURS = 5  # frames that may look like the next ones, also where something moves
_CLEARLY = 0.5  # what part of its own frame's distance another's has at most, if that is the right
_BY_FAR = 0.75  # what part of all others' distances its own frame's has at most, if that is
_LEAST_GAIN = 0.003  # of a distance of 0..2: less is noise
_UNRELATED = 0.5  # mean distance; a copy at CRF 35 has 0.02
_AT_FIRST, _EVERY = 64, 4  # so many pairs are compared, then each fourth
_FLAT = 3.0  # grey levels of spread: a picture with less (black, covered whole) tells nothing
_LEAST_SHARE = 0.1  # of the picture that has to be left beside all faces


class Order(StrEnum):
    """What is known of the order; UNKNOWN where too little moves to tell."""

    IN_ORDER = "in order"
    UNKNOWN = "unknown"
    SHIFTED = "shifted"
    UNRELATED = "unrelated"


@dataclass(frozen=True, slots=True)
class Pictures:
    """Luma of a pair of frames, small and of one size, and where (True) there is no face."""

    source: Floats
    target: Floats
    free: NDArray[np.bool_]


class Orderly:
    """Takes pairs in order, and tells at the end how they go together."""

    def __init__(self, reach: int = REACH) -> None:
        self._reach = reach
        self._turn = 0
        self._sources: list[Floats] = []
        self._targets: list[Floats] = []
        # of each shift: pairs, their distance under it, and that of the same pairs without
        self._sums = np.zeros((2 * reach + 1, 3))

    def add(self, pictures: Pictures) -> None:
        """The next pair."""
        source, target = pictures.source.ravel(), pictures.target.ravel()
        free, turn = pictures.free.ravel(), self._turn
        self._turn += 1
        if (turn < _AT_FIRST or turn % _EVERY == 0) and free.mean() >= _LEAST_SHARE:
            self._compare(source, target, free)
        for history, picture in ((self._sources, source), (self._targets, target)):
            history.insert(0, picture)
            del history[self._reach :]

    def _compare(self, source: Floats, target: Floats, free: NDArray[np.bool_]) -> None:
        own = _distances([source], target, free)
        if not np.isfinite(own[0]):
            return
        middle = self._reach
        later, earlier = (
            _distances(history, picture, free)
            for history, picture in ((self._sources, target), (self._targets, source))
        )
        self._note(slice(middle, middle + 1), own, own)
        self._note(slice(middle + 1, middle + 1 + len(later)), later, own)
        self._note(slice(middle - len(earlier), middle), earlier[::-1], own)

    def _note(self, shifts: slice, distances: Floats, own: Floats) -> None:
        known = np.isfinite(distances)
        self._sums[shifts, 0] += known
        self._sums[shifts, 1] += np.where(known, distances, 0)
        self._sums[shifts, 2] += np.where(known, own[0], 0)

    @property
    def found(self) -> tuple[Order, int]:
        """The order; and where it is shifted, by how many frames the output lags behind (below 0:
        it lacks so many of the first ones)."""
        pairs, there, own = self._sums.T
        enough = pairs >= _LEAST_PAIRS
        middle = self._reach
        if not enough[middle]:
            return Order.UNKNOWN, 0
        there, own = there / np.maximum(pairs, 1), own / np.maximum(pairs, 1)
        shifts = np.arange(-middle, middle + 1)
        better = enough & (there < _CLEARLY * own) & (own - there > _LEAST_GAIN)
        if better.any():
            gains = np.where(better, there / np.maximum(own, 1e-9), np.inf)
            return Order.SHIFTED, int(shifts[gains.argmin()])
        if own[middle] > _UNRELATED:
            return Order.UNRELATED, 0
        far = enough & (np.abs(shifts) >= _NEIGHBOURS)
        right = (own < _BY_FAR * there) & (there - own > _LEAST_GAIN)
        return (Order.IN_ORDER if far.any() and right[far].all() else Order.UNKNOWN), 0


def _distances(pictures: list[Floats], one: Floats, free: NDArray[np.bool_]) -> Floats:
    """How far each of some pictures is from one, 0 (alike) to 2: one less their correlation."""
    if not pictures:
        return np.zeros(0, np.float32)
    others = np.stack(pictures)[:, free]
    others -= others.mean(axis=1, keepdims=True)
    mine = one[free] - one[free].mean()
    lengths = np.sqrt((others**2).sum(axis=1)) * np.sqrt((mine**2).sum())
    flat = lengths < _FLAT**2 * free.sum()  # of either, as a geometric mean
    return np.where(flat, np.nan, 1 - others @ mine / np.maximum(lengths, 1e-6))
