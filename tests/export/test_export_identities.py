"""Biometric data: written for the owner alone, found again, and removed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from mpflow.export.identities import (
    EMBEDDINGS,
    crops_below,
    remove_identities,
    write_embeddings,
)
from mpflow.wholefile import PRIVATE, write_whole


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """What `mpflow faces --identities` leaves, in a folder below."""
    folder = tmp_path / "films" / "one"
    (folder / "people").mkdir(parents=True)
    (folder / "crops").mkdir()
    write_whole(folder / "faces.json", b"{}")
    write_whole(folder / "people" / "person-001.png", b"png", PRIVATE)
    write_whole(folder / "crops" / "track-00001-frame-0000001.png", b"png", PRIVATE)
    write_embeddings(folder, np.eye(2, 4, dtype=np.float32), [3, 5], [1, 2], "sface")
    return folder


def test_only_the_owner_may_read_what_shows_who_it_is(exported: Path) -> None:
    before = os.umask(0)
    try:
        write_embeddings(exported, np.eye(1, 4, dtype=np.float32), [3], [1], "sface")
    finally:
        os.umask(before)
    for path in (exported / EMBEDDINGS, exported / "people" / "person-001.png"):
        assert path.stat().st_mode & 0o777 == 0o600


def test_embeddings_name_their_tracks_people_and_model(exported: Path) -> None:
    with np.load(exported / EMBEDDINGS) as data:
        assert data["tracks"].tolist() == [3, 5]
        assert data["people"].tolist() == [1, 2]
        assert data["embeddings"].shape == (2, 4)
        assert str(data["model"]) == "sface"


def test_identities_are_removed_wherever_they_lie_below_and_crops_stay(
    tmp_path: Path, exported: Path
) -> None:
    unfinished = exported / f".{EMBEDDINGS}.1234"
    unfinished.write_bytes(b"half")
    removed = remove_identities(tmp_path)
    people = exported / "people" / "person-001.png"
    assert sorted(removed) == sorted([exported / EMBEDDINGS, people, unfinished])
    assert not any(path.exists() for path in removed)
    assert len(list((exported / "crops").iterdir())) == 1
    assert remove_identities(tmp_path) == []


def test_pictures_of_people_are_found_where_an_export_was_killed_before_its_end(
    exported: Path,
) -> None:
    (exported / "faces.json").unlink()  # it is written last
    assert exported / "people" / "person-001.png" in remove_identities(exported)


def test_crops_that_stay_are_counted(tmp_path: Path, exported: Path) -> None:
    assert dict(crops_below(tmp_path)) == {exported / "crops": 1}
    (exported / "crops" / "track-00001-frame-0000001.png").unlink()
    (exported / "crops" / "mine.png").write_bytes(b"png")
    assert dict(crops_below(tmp_path)) == {}


def test_files_of_others_stay(tmp_path: Path, exported: Path) -> None:
    other = tmp_path / "mine"
    (other / "people").mkdir(parents=True)
    np.savez(other / EMBEDDINGS, mine=np.zeros(3))
    portrait = other / "people" / "person-001.png"
    portrait.write_bytes(b"no export of ours: there is no faces.json")
    (other / "link").symlink_to(exported)
    (other / "people" / "person-002.png").symlink_to(exported / "people" / "person-001.png")
    assert remove_identities(other) == []
    assert portrait.exists()
    assert (exported / EMBEDDINGS).exists()
