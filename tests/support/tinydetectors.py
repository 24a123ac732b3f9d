"""Small ONNX files that answer as face detectors of each make do, with faces that are known.

A cell that is pure red holds a face with the box ``BOX`` and the points ``POINTS``, in pixels from
the cell's corner, and the score ``SURE``; a second anchor, where there is one, says the same less
surely. What the network gives for that is the make's own encoding of box and points, written here
the way it is trained, so that decoding it is checked against its inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tinynets import Net

BOX = np.array([-10.0, -10.0, 22.0, 30.0])
POINTS = np.array([(0.0, 4.0), (12.0, 4.5), (6.5, 12.0), (1.0, 20.0), (11.5, 21.0)])
SURE, LESS, NONE = 0.9, 0.7, 0.05
STRIDES = (8, 16, 32)

CENTRE = (BOX[:2] + BOX[2:]) / 2
SIDES = BOX[2:] - BOX[:2]


def score(alive: bool, sure: float = SURE) -> float | tuple[float, float]:
    return (NONE, sure) if alive else NONE


def logit(value: Any) -> Any:
    return np.log(value / (1 - np.asarray(value)))


def logits(alive: bool, sure: float = SURE) -> float | tuple[float, float]:
    """Before a sigmoid."""
    return (-9.0, float(logit(sure))) if alive else -9.0


def scrfd(
    net: Net, alive: int, *, anchors: int = 2, batched: bool = True, points: bool = True
) -> None:
    """Distances in cells from the corner; by kind and then by stride."""
    sure = (SURE, LESS)[:anchors]
    kinds: dict[str, Callable[[int], list[Any]]] = {
        "score": lambda stride: [score(stride == alive, each) for each in sure],
        "bbox": lambda stride: [*(BOX * (-1, -1, 1, 1) / stride)] * anchors,
        "kps": lambda stride: [*(POINTS.ravel() / stride)] * anchors,
    }
    for (name, channels), wide in zip(kinds.items(), (1, 4, 10), strict=True):
        for stride in STRIDES if points or name != "kps" else ():
            rows = net.rows(net.cells(stride, channels(stride)), wide, batched=batched)
            net.output(rows, f"{name}_{stride}")


RETINA_SIDES = ((16.0, 32.0), (64.0, 128.0), (256.0, 512.0))


def retinaface(net: Net, alive: int, *, before_softmax: bool = False) -> None:
    """Offsets from boxes laid around the middle of each cell; all strides behind each other."""
    parts: dict[str, list[str]] = {"boxes": [], "scores": [], "points": []}
    for stride, sides in zip(STRIDES, RETINA_SIDES, strict=True):
        boxes: list[Any] = []
        scores: list[Any] = []
        points: list[Any] = []
        for side, sure in zip(sides, (SURE, LESS), strict=True):
            boxes += [*((CENTRE - stride / 2) / side / 0.1), *(np.log(SIDES / side) / 0.2)]
            points += [*((POINTS - stride / 2) / side / 0.1).ravel()]
            face = logits(stride == alive, sure) if before_softmax else score(stride == alive, sure)
            scores += [0.0, face]
        for kind, channels, wide in (
            ("boxes", boxes, 4),
            ("scores", scores, 2),
            ("points", points, 10),
        ):
            parts[kind].append(net.rows(net.cells(stride, channels), wide))
    for kind, each in parts.items():
        net.output(net.node("Concat", each, axis=1), kind)


YOLO_ANCHORS = (
    ((4, 5), (8, 10), (13, 16)),
    ((23, 29), (43, 55), (73, 105)),
    ((146, 217), (231, 300), (335, 433)),
)
# Sides are at most four times the anchor's, so that not every anchor can say the box.
YOLO_USED = {8: 2, 16: 1, 32: 0}


def yolov5_raw(net: Net, alive: int, *, apart: bool = True) -> None:
    """As the last layer gives them, the anchors apart or among the channels."""
    for level, stride in enumerate(STRIDES):
        channels: list[Any] = []
        for number, anchor in enumerate(np.array(YOLO_ANCHORS[level], float)):
            used = number == YOLO_USED[stride]
            sides = logit(np.sqrt(SIDES / anchor) / 2) if used else np.zeros(2)
            centre = logit((CENTRE / stride + 0.5) / 2) if used else np.zeros(2)
            points = (POINTS / anchor).ravel()
            sure = logits(alive == stride and used)
            channels += [*centre, *sides, sure, *points, 9.0]
        cells = net.cells(stride, channels)
        if apart:
            shape = net.constant(np.array([0, 3, 16, -1], np.int64))
            flat = net.node("Reshape", [cells, shape])
            size = net.node("Shape", [cells], start=2)
            start = net.constant(np.array([0, 3, 16], np.int64))
            whole = net.node("Concat", [start, size], axis=0)
            flat = net.node("Reshape", [flat, whole])
            cells = net.node("Transpose", [flat], perm=[0, 1, 3, 4, 2])
        net.output(cells, f"stride_{stride}")


def _grid(stride: int, sides: tuple[int, int]) -> NDArray[np.float64]:
    """The corner of each cell in pixels [2, h, w]: x and y."""
    width, height = sides
    rows, columns = height // stride, width // stride
    y, x = np.mgrid[:rows, :columns] * stride
    return np.stack([x, y]).astype(float)


def yolov5_finished(net: Net, alive: int) -> None:
    """Pixels of a picture of a fixed size; all anchors of all strides in one."""
    assert net.sides is not None
    parts = []
    for stride in STRIDES:
        channels: list[Any] = []
        places = []
        for number in range(3):
            sure = score(alive == stride and number == YOLO_USED[stride], SURE / 0.95)
            channels += [*CENTRE, *SIDES, sure, *POINTS.ravel(), 0.95]
            corner = _grid(stride, net.sides)
            still = np.zeros((2, *corner.shape[1:]))
            places += [corner, still, still[:1], *[corner] * 5, still[:1]]
        moved = net.constant(np.concatenate(places)[None].astype(np.float32))
        cells = net.node("Add", [net.cells(stride, channels), moved])
        width, height = net.sides
        shape = [0, 3, 16, (height // stride) * (width // stride)]
        flat = net.node("Reshape", [cells, net.constant(np.array(shape, np.int64))])
        apart = net.node("Transpose", [flat], perm=[0, 1, 3, 2])
        parts.append(net.node("Reshape", [apart, net.constant(np.array([0, -1, 16], np.int64))]))
    net.output(net.node("Concat", parts, axis=1), "output")


def _points_of_yolov8(values: Any, sure: bool) -> list[float]:
    return [number for point in values for number in ((*point, 3.0) if sure else point)]


def yolov8_raw(net: Net, alive: int, *, sure: bool = True, bins: int = 16) -> None:
    """Sides of the box as distributions over whole distances, in cells from the middle."""
    for stride in STRIDES:
        channels: list[Any] = []
        for far in np.abs(BOX - stride / 2) / stride:
            weights = np.full(bins, 1e-9)
            weights[int(far)], weights[int(far) + 1] = 1 - far % 1 + 1e-9, far % 1 + 1e-9
            channels += [*np.log(weights)]
        channels.append(logits(alive == stride))
        channels += _points_of_yolov8(POINTS / stride / 2, sure)
        net.output(net.cells(stride, channels), f"output_{stride}")


def yolov8_finished(net: Net, alive: int, *, sure: bool = True) -> None:
    """Pixels of a picture of a fixed size [n, 15 or 20, cells]."""
    assert net.sides is not None
    parts = []
    for stride in STRIDES:
        channels = [*CENTRE, *SIDES, score(alive == stride), *_points_of_yolov8(POINTS, sure)]
        corner = _grid(stride, net.sides)
        still = np.zeros((1, *corner.shape[1:]))
        each = [corner, still] if sure else [corner]
        moved = np.concatenate([corner, still, still, still, *each * 5])[None].astype(np.float32)
        cells = net.node("Add", [net.cells(stride, channels), net.constant(moved)])
        shape = net.constant(np.array([0, len(channels), -1], np.int64))
        parts.append(net.node("Reshape", [cells, shape]))
    net.output(net.node("Concat", parts, axis=2), "output0")


def yunet(net: Net, alive: int) -> None:
    """Centre from the corner in cells, the sides' logarithms, points from the corner."""
    for stride in STRIDES:
        kinds: Mapping[str, list[Any]] = {
            "cls": [score(stride == alive, SURE**2)],
            "obj": [1.0],
            "bbox": [*(CENTRE / stride), *np.log(SIDES / stride)],
            "kps": [*(POINTS / stride).ravel()],
        }
        for kind, channels in kinds.items():
            rows = net.rows(net.cells(stride, channels), len(channels))
            net.output(rows, f"{kind}_{stride}")


def centerface(net: Net, alive: int = 4) -> None:
    """y before x; centre from the cell's middle, points from the box's corner in its sides."""
    inside = ((POINTS - BOX[:2]) / SIDES)[:, ::-1]
    net.output(net.cells(4, [score(True)]), "537")
    net.output(net.cells(4, [*np.log(SIDES[::-1] / 4)]), "538")
    net.output(net.cells(4, [*(CENTRE[::-1] / 4 - 0.5)]), "539")
    net.output(net.cells(4, [*inside.ravel()]), "540")
