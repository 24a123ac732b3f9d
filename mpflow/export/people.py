"""Which tracks are one person: those whose faces are alike, and which were never seen together.

Average linkage: the two groups that are most alike on average are joined, until none are alike
enough. Libraries for it know no tracks that must stay apart, and pull in a hundred megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def grouped(vectors: Floats, apart: Iterable[tuple[int, int]], same: float) -> list[int]:
    """The group of each row of ``vectors`` [n, k] of length 1, numbered as they come first.

    Groups are joined while their mean cosine is ``same`` at least; the rows of a pair in ``apart``
    never come into one group.
    """
    groups = list(range(len(vectors)))
    if len(vectors) < 2:
        return groups
    alike = (vectors @ vectors.T).astype(np.float64)
    np.fill_diagonal(alike, -np.inf)
    for one, other in apart:
        alike[one, other] = alike[other, one] = -np.inf
    sizes = np.ones(len(vectors))
    while True:
        one, other = divmod(int(alike.argmax()), len(vectors))
        if alike[one, other] < same:
            return _numbered(groups)
        one, other = min(one, other), max(one, other)
        _join(alike, sizes, one, other)
        groups = [one if group == other else group for group in groups]


def seen_together(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs of tracks that overlap, each from its first to its last sighting, both included."""
    return [
        (one, other)
        for one, (first, last) in enumerate(spans)
        for other in range(one + 1, len(spans))
        if spans[other][0] <= last and first <= spans[other][1]
    ]


def _join(alike: NDArray[np.float64], sizes: NDArray[np.float64], one: int, other: int) -> None:
    """Make the second group part of the first: to all others it is as alike as both on average."""
    weights = sizes[one] + sizes[other]
    mean = (alike[one] * sizes[one] + alike[other] * sizes[other]) / weights
    mean[one] = -np.inf
    alike[one] = alike[:, one] = mean
    alike[other] = alike[:, other] = -np.inf
    sizes[one] = weights


def _numbered(groups: Sequence[int]) -> list[int]:
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return [numbers[group] for group in groups]
