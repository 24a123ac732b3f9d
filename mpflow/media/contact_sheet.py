"""A contact sheet: pairs of pictures, before and after, at evenly spaced times of two videos.

+--------------- heading ---------------+
| before            | after             |
| 0:00.8   picture  | picture           |
| 0:02.3   picture  | picture           |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import av
import cv2
import numpy as np
import numpy.typing as npt
from av import VideoFrame
from av.container import InputContainer
from av.video.stream import VideoStream

from mpflow.errors import InputError, OutputError
from mpflow.media.probe import picture_stream
from mpflow.media.source import open_input

CELL_WIDTH, CELL_HEIGHT = 640, 360
"""The largest a picture is drawn; a small one is enlarged at most three times."""

MOST_ENLARGED = 3
GAP, HEADING = 12, 44
PAPER, INK, FAINT = (250, 249, 247), (40, 36, 32), (120, 116, 112)  # BGR

Picture = npt.NDArray[np.uint8]


def contact_sheet(before: str, after: str, target: Path, *, pairs: int = 4) -> None:
    """Write a PNG of ``pairs`` rows; raises InputError or OutputError."""
    moments = _moments(before, pairs)
    rows = list(zip(moments, _pictures(before, moments), _pictures(after, moments), strict=True))
    sheet = _draw(rows)
    whole, data = cv2.imencode(".png", sheet)
    try:
        target.write_bytes(data.tobytes() if whole else b"")
    except OSError as error:
        raise OutputError(f"{str(target)!r} cannot be written: {error.strerror}") from error


def _moments(path: str, pairs: int) -> list[float]:
    """Times in seconds from the first picture, in the middle of equal parts."""
    with open_input(path) as container:
        stream = picture_stream(container, path)
        length = _length(container, stream)
    return [length * (number + 0.5) / pairs for number in range(pairs)]


def _length(container: InputContainer, stream: VideoStream) -> float:
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return (container.duration or 0) / av.time_base


def _pictures(path: str, moments: Sequence[float]) -> list[Picture]:
    """The picture that is shown at each moment, upright, in BGR."""
    with open_input(path) as container:
        stream = picture_stream(container, path)
        shown = [_upright(frame) for frame in _frames_at(container, stream, moments)]
    if len(shown) != len(moments):
        raise InputError(f"{path!r} has no picture to draw")
    return shown


def _frames_at(
    container: InputContainer, stream: VideoStream, moments: Sequence[float]
) -> Iterator[VideoFrame]:
    """Walk through the video once, keeping the last frame at or before each moment."""
    waiting = list(moments)
    last: VideoFrame | None = None
    start: float | None = None
    for picture in container.decode(stream):
        time = picture.time or 0.0
        start = time if start is None else start
        while waiting and last is not None and time - start > waiting[0]:
            waiting.pop(0)
            yield last
        if not waiting:
            return
        last = picture
    while waiting and last is not None:
        waiting.pop(0)
        yield last


def _upright(frame: VideoFrame) -> Picture:
    """A frame as it is to be seen, at the size it is drawn."""
    turns = round(frame.rotation / 90) % 4
    most = (CELL_HEIGHT, CELL_WIDTH) if turns % 2 else (CELL_WIDTH, CELL_HEIGHT)
    scale = min(most[0] / frame.width, most[1] / frame.height, MOST_ENLARGED)
    width, height = (max(16, round(side * scale / 16) * 16) for side in (frame.width, frame.height))
    small = frame.reformat(width=width, height=height, format="bgr24", interpolation="AREA")
    return np.ascontiguousarray(np.rot90(small.to_ndarray(), turns))


def _draw(rows: Sequence[tuple[float, Picture, Picture]]) -> Picture:
    height, width = rows[0][1].shape[:2]
    sheet = np.empty(
        (HEADING + len(rows) * (height + GAP), 2 * width + 3 * GAP, 3),
        np.uint8,
    )
    sheet[:] = PAPER
    left, right = GAP, 2 * GAP + width
    _write(sheet, "before", (left, HEADING - 14), 0.75, INK)
    _write(sheet, "after", (right, HEADING - 14), 0.75, INK)
    for number, (moment, before, after) in enumerate(rows):
        top = HEADING + number * (height + GAP)
        for place, picture in ((left, before), (right, after)):
            sheet[top : top + height, place : place + width] = _fitted(picture, width, height)
        _caption(sheet, _clock(moment), (left, top + height))
    return sheet


def _fitted(picture: Picture, width: int, height: int) -> Picture:
    """The second video may have another size; the first decides."""
    if picture.shape[:2] == (height, width):
        return picture
    return np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def _caption(sheet: Picture, text: str, corner: tuple[int, int]) -> None:
    """The time in the lower left corner of a picture, on a patch of paper."""
    (width, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)
    x, y = corner
    cv2.rectangle(sheet, (x, y - 24), (x + width + 14, y - 1), PAPER, cv2.FILLED)
    _write(sheet, text, (x + 7, y - 8), 0.5, FAINT)


def _write(
    sheet: Picture, text: str, place: tuple[int, int], scale: float, ink: tuple[int, int, int]
) -> None:
    cv2.putText(sheet, text, place, cv2.FONT_HERSHEY_SIMPLEX, scale, ink, 1, cv2.LINE_AA)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}:{rest:04.1f}"
