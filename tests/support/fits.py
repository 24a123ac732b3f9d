"""Real faces of the store's photos, found and fitted with landmarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import scenes

from mpflow import convert
from mpflow.frame import Frame
from mpflow.memory import MemorySlot
from mpflow.models.facemesh import FaceMesh
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.models.upright import to_faces
from mpflow.models.yunet import YuNet
from mpflow.spec import JobSpec, MediaInfo, VideoInfo
from mpflow.stage import Job
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


def slot_with_room(picture: scenes.Picture, side_bytes: int, name: str = "yuv420p") -> MemorySlot:
    """The picture as a frame, with room for arrays beside it."""
    made = MemorySlot.of(name, picture.shape[1], picture.shape[0], side_bytes=side_bytes)
    planes = convert.from_bgr(picture, made.layout.format, made.colour)
    for target, plane in zip(made.frame().fill_planes(), planes, strict=True):
        target[:] = plane
    return made


def job(picture: scenes.Picture, rotation: int = 0) -> Job:
    """A job whose pictures are stored turned."""
    height, width = picture.shape[:2]
    video = VideoInfo(0, "none", width, height, "yuv420p", "yuv420p", (1, 25), rotation=rotation)
    return Job(JobSpec("job", "in"), MediaInfo("in", "none", video))
