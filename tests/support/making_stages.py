"""Stages that make faces, as swapping does: nothing is drawn by them, it is what they declare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from mpflow.stage import Options, Stage, Work
from mpflow.tokens import Token


class MakerOptions(Options, frozen=True):
    """Which network makes them (``mesh`` is none), of which photos, within which masks."""

    model: str = "mesh"
    photos: tuple[str, ...] = ()
    masks: tuple[str, ...] = ()


class Maker(Stage[MakerOptions]):
    """Makes faces by a network, or by warping."""

    Options = MakerOptions
    makes_faces: ClassVar[bool] = True
    generator: ClassVar[str] = "model"

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            yield work.token


class Layer(Stage[Options]):
    """Lays faces in that another stage has made."""

    makes_faces: ClassVar[bool] = True

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            yield work.token


class MarkerOptions(Options, frozen=True):
    """How faces were made."""

    made: str = ""


class Marker(Stage[MarkerOptions]):
    """Marks the picture where faces were made."""

    Options = MarkerOptions
    made_option: ClassVar[str] = "made"
    marks_faces: ClassVar[bool] = True

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            yield work.token
