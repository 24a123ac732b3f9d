"""Embeddings on the disk: only if asked for, for their owner alone, and removed by a command.

Who has an embedding can find the person in any other picture, so it is biometric data, and so is
a folder of faces that a gallery can be made of.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mpflow.export.files import write_result
from mpflow.linefile import file_error
from mpflow.wholefile import PRIVATE

EMBEDDINGS = "embeddings.npz"
PEOPLE = "people"
SUMMARY = "faces.json"
CROPS = "crops"
CROP = re.compile(r"^track-\d{5,}-frame-\d{7,}\.png$")
FORMAT = 1

_MARK = "mpflow_identities.npy"
_PICTURE = re.compile(r"^person-\d{3,}\.png$")
_UNFINISHED = re.compile(rf"^\.({re.escape(EMBEDDINGS)}|person-\d{{3,}}\.png)\.[\w.-]+$")


def write_embeddings(
    folder: Path,
    embeddings: NDArray[np.float32],
    tracks: Sequence[int],
    people: Sequence[int],
    model: str,
) -> Path:
    """Write one embedding [k] of each track, with the number of its person.

    Raises OutputError or ResourceError.
    """
    stream = io.BytesIO()
    np.savez(
        stream,
        mpflow_identities=np.array(FORMAT),
        embeddings=embeddings,
        tracks=np.asarray(tracks, np.int64),
        people=np.asarray(people, np.int64),
        model=np.array(model),
    )
    path = folder / EMBEDDINGS
    write_result(path, stream.getvalue(), PRIVATE)
    return path


def remove_identities(folder: Path) -> list[Path]:
    """Remove all embeddings and pictures of people that were exported below a folder; the files it
    removed. Links are not followed, and files that are not ours stay.

    Raises OutputError for a file that cannot be removed.
    """
    removed = []
    for path in list(_identities(folder)):
        try:
            path.unlink()
        except OSError as error:
            raise file_error(path, error) from error
        removed.append(path)
        if path.parent.name == PEOPLE:
            with suppress(OSError):  # something else is in it
                path.parent.rmdir()
    return removed


def crops_below(folder: Path) -> Iterator[tuple[Path, int]]:
    """Each folder of an export's crops in or below a folder, and how many faces it still shows."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        count = sum(CROP.match(name) is not None for name in names)
        if count and Path(place).name == CROPS:
            yield Path(place), count


def _identities(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        here = Path(place)
        is_people = here.name == PEOPLE and _is_export(here.parent)
        for name in sorted(names):
            path = here / name
            ours = (name == EMBEDDINGS and _is_ours(path)) or _UNFINISHED.match(name)
            if not path.is_symlink() and (ours or (is_people and _PICTURE.match(name))):
                yield path


def _is_export(folder: Path) -> bool:
    """Whether faces were exported here, be it that the export did not come to its end."""
    return (folder / SUMMARY).is_file() or (folder / CROPS).is_dir()


def _is_ours(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return _MARK in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
