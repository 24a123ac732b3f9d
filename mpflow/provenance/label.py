"""A label that everybody sees: white text on a dark plate, in a corner of the upright picture.

text -> white on black, as high as a share of the shorter side -> a plate around it -> turned as
        the picture is stored -> laid over every frame
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
import numpy.typing as npt

from mpflow.errors import ConfigError
from mpflow.frame import Frame
from mpflow.picture import IntBox, PictureLayout

Corner = Literal["top-left", "top-right", "bottom-left", "bottom-right"]
Ink = npt.NDArray[np.uint8]

_PLATE = 0.5
_MARGIN, _PADDING = 0.6, 0.35  # shares of the text's height
_PROBE = 200  # pixels of a font whose capitals are measured
_LEAST_HEIGHT = 6


@dataclass(frozen=True, slots=True)
class Wish:
    """What a label says, in which corner, and how high: a share of the picture's shorter side."""

    text: str
    corner: Corner
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """Colours (BGR) and weights of a label, for the box of the stored picture that it covers;
    ``height`` is that of its capitals in pixels, less than was asked for where it did not fit."""

    box: IntBox
    picture: npt.NDArray[np.uint8]
    weight: npt.NDArray[np.float32]
    height: int

    def lay(self, frame: Frame) -> None:
        """Lay it over a frame, in place."""
        frame.put_bgr(self.box, self.picture, self.weight)


def make_label(wish: Wish, layout: PictureLayout, turns: int = 0) -> Label | None:
    """A label for pictures of a layout; None for those in which nobody could read it.

    ``turns`` quarters counter-clockwise bring the stored picture upright. Raises ConfigError for
    text that cannot be drawn.
    """
    width, height = layout.width, layout.height
    if turns % 2:
        width, height = height, width
    for tall in range(round(wish.share * min(width, height)), _LEAST_HEIGHT - 1, -1):
        margin = round(tall * _MARGIN)
        ink = np.pad(draw(wish.text, tall), round(tall * _PADDING))
        if ink.shape[1] + 2 * margin <= width and ink.shape[0] + 2 * margin <= height:
            cover, colour = (
                np.rot90(_in_corner(each, wish.corner, margin, (width, height)), -turns)
                for each in (np.maximum(ink, round(_PLATE * 255)), ink)
            )
            return _cut(cover, colour, layout, tall)
    return None


def draw(text: str, tall: int) -> Ink:
    """Text whose capitals are ``tall`` pixels high, white on black, with nothing around it."""
    face = getattr(cv2, "FontFace", None)
    if face is None:
        return _drawn_plain(text, tall)
    size = round(tall * _PROBE / len(_trimmed(_drawn(face, "H", _PROBE), "H")))
    return _trimmed(_drawn(face, text, size), text)


def _drawn(face: Any, text: str, size: int) -> Ink:
    canvas = np.zeros((3 * size, (len(text) + 2) * size * 2, 3), np.uint8)
    put: Any = cv2.putText
    put(canvas, text, (size, 2 * size), (255, 255, 255), face("sans"), size, 400)
    return canvas[:, :, 0]


def _drawn_plain(text: str, tall: int) -> Ink:
    """By the lines of letters that OpenCV 4 has: those of ASCII."""
    if not text.isascii():
        raise ConfigError(
            f"the label {text!r} has letters that OpenCV {cv2.__version__} cannot draw",
            cure="install opencv-python 5 or later, or keep to ASCII",
        )
    font, line = cv2.FONT_HERSHEY_SIMPLEX, max(1, round(tall / 10))
    scale = cv2.getFontScaleFromHeight(font, tall, line)
    (width, height), below = cv2.getTextSize(text, font, scale, line)
    canvas = np.zeros((height + below + 4 * line, width + 4 * line), np.uint8)
    place = 2 * line, height + 2 * line
    cv2.putText(canvas, text, place, font, scale, (255,), line, cv2.LINE_AA)
    return _trimmed(canvas, text)


def _trimmed(ink: Ink, text: str) -> Ink:
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if not len(rows):
        raise ConfigError(f"the label {text!r} has nothing to draw", cure="give it letters")
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _in_corner(ink: Ink, corner: Corner, margin: int, size: tuple[int, int]) -> Ink:
    """Ink in an upright picture of nothing else."""
    (width, height), (down, across) = size, ink.shape
    x = margin if "left" in corner else width - margin - across
    y = margin if "top" in corner else height - margin - down
    picture = np.zeros((height, width), np.uint8)
    picture[y : y + down, x : x + across] = ink
    return picture


def _cut(cover: Ink, colour: Ink, layout: PictureLayout, tall: int) -> Label:
    """The part of a picture that a label covers."""
    rows, columns = np.flatnonzero(cover.any(axis=1)), np.flatnonzero(cover.any(axis=0))
    box = layout.align((columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))
    part = slice(box[1], box[3]), slice(box[0], box[2])
    picture = np.ascontiguousarray(colour[part][:, :, None].repeat(3, axis=2))
    return Label(box, picture, cover[part].astype(np.float32) / np.float32(255), tall)
