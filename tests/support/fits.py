"""Real faces of the store's photos, found and fitted with landmarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import scenes

from mpflow.frame import Frame
from mpflow.models.facemesh import FaceMesh
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.models.upright import to_faces
from mpflow.models.yunet import YuNet
from mpflow.tokens import Face

PORTRAITS = ("astronaut", "person-a-2", "person-b-2", "impostor-2")


@dataclass(frozen=True)
class Sight:
    """One face, in its picture and in a frame that shows it."""

    picture: scenes.Picture
    frame: Frame
    face: Face


def face_mesh(store: ModelStore) -> FaceMesh:
    """The mesh network on the CPU."""
    return FaceMesh(open_session(store.path("facemesh"), device="cpu")[0])


def faces_of(store: ModelStore, picture: scenes.Picture) -> tuple[Face, ...]:
    """What YuNet finds in a whole picture."""
    yunet = YuNet(open_session(store.path("yunet"), device="cpu")[0], 0.6)
    blob, scale = letterbox(picture, 640, 640)
    return to_faces(yunet.detect(blob)[0], scale, (picture.shape[1], picture.shape[0]))


def sights(store: ModelStore, *names: str) -> Iterator[Sight]:
    """Every face of these photos."""
    for name in names:
        picture = scenes.read(store, name)
        frame = scenes.slot(picture, "yuv444p").frame()
        for face in faces_of(store, picture):
            yield Sight(picture, frame, face)
