"""Mark every frame where faces were made: a pattern that nobody sees, and a label if one is wanted.

    first frame -> the pattern for its size and format -> added to luma, the same on every frame
                -> the label -> laid over it

The same run's number is on all its frames: of every worker, of every chunk of one video on many
machines, and of frames that are made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from mpflow.spec import Making
from mpflow.stage import Job, Options, Stage, Work
from mpflow.tokens import Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.picture import PictureLayout
    from mpflow.provenance.label import Label
    from mpflow.provenance.pattern import Marker

_RUNS = 1 << 16


class MarkOptions(Options, frozen=True, forbid_unknown_fields=True):
    """What is seen, and what the invisible mark says.

    ``label``: text in a corner of the picture, such as "AI-generated"; empty for none.
    ``corner``: which. ``height``: of its capitals, as a share of the picture's shorter side; the
    standard GB 45438 asks for 0.05. ``made``: how the faces were made; set by the preset's stages.
    ``run``: the number that the mark carries, 0 to 65535; -1 derives it from the input's
    size and length, or from the clock of a live one.
    """

    label: Annotated[str, msgspec.Meta(max_length=80)] = ""
    corner: Literal["top-left", "top-right", "bottom-left", "bottom-right"] = "top-left"
    height: Annotated[float, msgspec.Meta(ge=0.02, le=0.25)] = 0.05
    made: Making = ""
    run: Annotated[int, msgspec.Meta(ge=-1, lt=_RUNS)] = -1


class Mark(Stage[MarkOptions]):
    """Marks frames in which faces may have been made."""

    Options = MarkOptions
    changes_pixels = True
    marks_faces: ClassVar[bool] = True
    made_option: ClassVar[str] = "made"
    advice = "more workers would help"

    def open(self) -> None:
        """Keep OpenCV to the threads this worker may use, and see that the label can be drawn."""
        import cv2

        from mpflow.provenance.label import draw

        cv2.setNumThreads(self.context.threads)
        if self.options.label:
            draw(self.options.label, 20)
        self._layout: PictureLayout | None = None
        self._marker: Marker | None = None
        self._label: Label | None = None
        self._turns = self._run = 0

    def begin(self, job: Job) -> None:
        """Note how the pictures of this input are turned, and what number its mark carries."""
        self._turns = round(job.media.video.rotation / 90) % 4
        self._run = self.options.run if self.options.run >= 0 else run_number(job)
        self._layout = None

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Mark one frame after the other."""
        for work in batch:
            self._mark(work.frame)
            yield work.token

    def _mark(self, frame: Frame) -> None:
        if self._layout != frame.layout:
            self._prepare(frame.layout)
            self._layout = frame.layout
        if self._marker is not None:
            (region,) = frame.edit([frame.layout.whole])
            self._marker.mark(region.planes[0])
        if self._label is not None:
            self._label.lay(frame)

    def _prepare(self, layout: PictureLayout) -> None:
        """Lay out the mark and the label for pictures of this kind, and say what they are."""
        from mpflow.provenance.label import Wish, make_label
        from mpflow.provenance.pattern import LEAST_SIDE, Marker, is_large_enough
        from mpflow.provenance.payload import VERSION, Payload

        size, options = (layout.width, layout.height), self.options
        self._marker = self._label = None
        if is_large_enough(*size):
            payload = Payload(options.made, self._run)
            self._marker = Marker(payload, *size, layout.format, self._turns)
            self.context.report("mark", {"version": VERSION, "run": self._run})
        else:
            self.context.report("mark", None)
            self.context.warn(
                f"pictures of {size[0]}x{size[1]} are too small for the invisible mark, which takes"
                f" {LEAST_SIDE} pixels on the shorter side: only metadata and sidecar say that"
                " faces were made"
            )
        if not options.label:
            return
        wish = Wish(options.label, options.corner, options.height)
        label = self._label = make_label(wish, layout, self._turns)
        if label is None:
            self.context.warn(f"the label {options.label!r} does not fit into {size[0]}x{size[1]}")
        elif label.height < round(options.height * min(size)):
            self.context.warn(
                f"the label {options.label!r} is only {label.height} pixels high, so that it fits"
            )


def run_number(job: Job) -> int:
    """A number for a run that says nothing of it, and is the same wherever parts of it are made.

    Of a file it comes from its size and length, of a live input from its clock.
    """
    media = job.media
    facts = (media.size, media.duration, media.zero, media.video.width, media.video.height)
    return int.from_bytes(hashlib.blake2b(repr(facts).encode(), digest_size=2).digest(), "big")
