"""The triangles of the mesh: all of the face once, whole at lids and lips, the nearest before."""

from __future__ import annotations

import numpy as np

from mpflow.models.landmarks import mesh_outline
from mpflow.swapping.flatface import LEFT_EYE, RIGHT_EYE, places
from mpflow.swapping.triangles import areas, around, facing, painted, triangles

LIPS = [78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308, 415, 310, 311, 312, 13, 82, 81, 80, 191]


def flat() -> np.ndarray:
    """The mean face at the middle of a picture of 200 by 200 pixels, without depth."""
    spots = places() * 0.09 + (100, 80)
    return np.column_stack([spots, np.zeros(len(spots))]).astype(np.float32)


def test_triangles_cover_the_face_once() -> None:
    found = triangles()
    assert np.unique(found).tolist() == [*range(468)]
    sizes = areas(places()[found])
    assert sizes.min() > 0
    outline = mesh_outline(places()).astype(np.float64)
    x, y = outline.T
    hull = abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    np.testing.assert_allclose(sizes.sum(), hull, rtol=1e-3)


def test_no_triangle_crosses_a_lid_or_a_lip() -> None:
    edges = {frozenset(pair) for three in triangles().tolist() for pair in _sides(three)}
    for ring in (LEFT_EYE, RIGHT_EYE, LIPS):
        assert {frozenset(pair) for pair in _sides(ring)} <= edges
        assert np.isin(triangles(), ring).all(axis=1).sum() == len(ring) - 2


def test_each_triangle_has_the_mean_of_those_around_it() -> None:
    np.testing.assert_allclose(around().sum(axis=1), 1, rtol=1e-5)
    assert around().min() >= 0


def test_a_triangle_knows_how_it_is_turned() -> None:
    np.testing.assert_allclose(facing(flat()), 1)
    turned = flat()
    turned[:, 2] = turned[:, 0]  # by 45 degrees
    np.testing.assert_allclose(facing(turned), np.sqrt(0.5), rtol=1e-5)
    np.testing.assert_allclose(facing(flat() * (-1, 1, 1)), -1)


def test_the_nearest_triangle_is_seen_and_none_from_behind() -> None:
    mesh = flat()
    seen = painted(mesh, (200, 200))
    assert seen[80, 100] >= 0
    assert seen[5, 5] == -1
    middles = mesh[triangles(), :2].mean(axis=1)
    wide = np.flatnonzero(areas(mesh[triangles()]) > 20)
    x, y = np.rint(middles[wide]).astype(int).T
    assert (seen[y, x] == wide).mean() > 0.95
    assert (painted(mesh * (-1, 1, 1) + (200, 0, 0), (200, 200)) == -1).all()
    near = np.zeros(len(mesh), bool)
    near[triangles()[seen[80, 100]]] = True
    pulled = mesh.copy()  # one triangle is drawn over the whole picture, before all others
    pulled[near] = [(0, 0, -100), (199, 0, -100), (0, 199, -100)]
    if areas(pulled[triangles()])[seen[80, 100]] < 0:
        pulled[near] = [(0, 0, -100), (0, 199, -100), (199, 0, -100)]
    assert painted(pulled, (200, 200))[60, 60] == seen[80, 100]


def _sides(ring: list[int]) -> list[tuple[int, int]]:
    return [*zip(ring, [*ring[1:], ring[0]], strict=True)]
