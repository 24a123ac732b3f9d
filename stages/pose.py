"""Tell how heads are turned where no landmarks stage does: from five points, or a mesh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mpflow.stage import Job, Options, Stage, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame


class Pose(Stage[Options]):
    """Puts yaw, pitch and roll on each face that has points."""

    needs = ("faces",)
    gives = ("poses",)
    advice = "more workers would help"

    def begin(self, job: Job) -> None:
        """Note how the pictures of this input are turned."""
        self._turned = float(job.media.video.rotation)

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Tell the poses of each frame's faces."""
        for work in batch:
            yield work.token.with_faces(
                [self._posed(work.frame, face) for face in work.token.faces]
            )

    def _posed(self, frame: Frame, face: Face) -> Face:
        from mpflow.models.pose import pose_of, upright

        mesh = frame.attached(face, "mesh")
        pose = (pose_of(mesh) if mesh is not None else None) or pose_of(face.points)
        return face if pose is None else replace(face, pose=upright(pose, self._turned))
