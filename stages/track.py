"""Number the faces of one person alike, and cover them where the detector missed them.

token.faces -> who is who, frame by frame -> the frame waits for ``ahead`` later ones
            -> gaps filled from both sides, ends extended -> token.faces

What the detector found is kept on the token: a fresh worker repeats it and knows all tracks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from mpflow.stage import Job, Options, Stage, Work
from mpflow.tokens import Face, Sighting, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.scenes import Sample

FIELD = "track.memory"
"""On every token: the finds, the number that the next track would get, whether a scene begins
here, whether one begins with the next frame, and how the picture looks if that is not known."""

Seconds = Annotated[float, msgspec.Meta(ge=0, le=10)]


class TrackOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How faces are followed.

    ``ahead``: for how many later frames each frame waits, so that a gap is filled from both sides
    and a face is covered before it is found first; 0 in live runs, where it would be delay.
    ``before`` and ``after``: for how many seconds a face is covered before its first and after its
    last sighting; ``before`` as far as ``ahead`` sees. ``bridge``: a face that comes back within
    so many seconds is the same. ``reach``: how many of its own sizes from where it is expected a
    face may be found on the next frame. ``smooth``: by how many sightings on either side the
    trembling of boxes and points is taken out; 0 leaves them as they are.
    """

    ahead: Annotated[int, msgspec.Meta(ge=0, le=250)] = 10
    before: Seconds = 0.4
    after: Seconds = 0.6
    bridge: Seconds = 1.0
    reach: Annotated[float, msgspec.Meta(gt=0, le=3)] = 0.6
    smooth: Annotated[int, msgspec.Meta(ge=0, le=8)] = 2


@dataclass(frozen=True, slots=True)
class Memory:
    """What is kept of a frame to repeat it; see FIELD."""

    finds: bytes
    number: int
    cut: bool
    next_cut: bool | None = None
    sample: bytes = b""

    def row(self) -> tuple[Any, ...]:
        """As plain values."""
        return self.finds, self.number, self.cut, self.next_cut, self.sample


class Track(Stage[TrackOptions]):
    """Gives every face the number of its track, and every track its face on each frame."""

    Options = TrackOptions
    needs = ("faces",)
    gives = ("faces", "tracks")  # it finds faces that were missed
    ordered = True
    remembers = True
    less_ahead = (
        "faces that are missed for longer are covered from one side only, and new ones less long"
        " before they are found"
    )
    advice = "it works on numbers only: look for what else is slow"

    @property
    def holds(self) -> int:
        """The frames that wait for later ones."""
        return self.options.ahead

    @property
    def least_holds(self) -> int:
        """None at all: as in live runs, faces that are missed are covered by where they were."""
        return 0

    def begin(self, job: Job) -> None:
        """Forget all tracks."""
        from mpflow.tracking.filling import Reach
        from mpflow.tracking.follower import Follower
        from mpflow.tracking.tracks import Tracker

        options, ahead = self.options, self.may_hold
        self._tracker = Tracker(options.bridge, options.reach, ahead)
        reach = Reach(options.before, options.after)
        self._follower = Follower(self._tracker, reach, ahead, options.smooth)
        self._memories: dict[int, Memory] = {}
        self._sample: Sample | None = None
        self._next_cut: bool | None = None

    def recall(self, tokens: Iterable[Token]) -> None:
        """Repeat what the detector found on frames that were given on already."""
        from mpflow.tracking.finds import unpacked

        for token in tokens:
            if FIELD not in token.fields:
                continue
            memory = Memory(*token.fields[FIELD])
            self._tracker.number_from(memory.number)
            self._follower.repeat(token, unpacked(memory.finds), cut=memory.cut)
            self._next_cut = memory.next_cut
            self._sample = _sample(memory.sample)

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Follow the faces of each frame; give on those that were waited for long enough."""
        for work in batch:
            self._add(work.token, self._cuts(work.frame))
            for token in self._follower.given():
                yield self._remembering(token)

    def flush(self) -> Iterator[Token]:
        """No frame will come any more: those that wait have seen all there is."""
        for token in self._follower.given(all_of_them=True):
            yield self._remembering(token)

    def _add(self, token: Token, cut: bool) -> None:
        from mpflow.tracking.finds import packed, unpacked

        token = token.with_faces(_as_sighted(token))
        finds = packed(token.faces)
        self._memories[token.seq] = Memory(finds, self._tracker.number, cut)
        self._follower.add(token, unpacked(finds), cut=cut)

    def _cuts(self, frame: Frame) -> bool:
        """Whether another scene begins with a frame."""
        from mpflow.scenes import changed, sample_of

        before, self._sample = self._sample, sample_of(frame).ravel()
        known, self._next_cut = self._next_cut, None
        if known is not None:
            return known
        return before is not None and changed(before, self._sample)

    def _remembering(self, token: Token) -> Token:
        """A token that is given on, with what it takes to repeat it."""
        memory = self._memories.pop(token.seq)
        if later := next(iter(self._memories.values()), None):
            memory = replace(memory, next_cut=later.cut)
        elif self._sample is not None:
            memory = replace(memory, sample=_bytes(self._sample))
        return token.with_field(FIELD, memory.row())


def _as_sighted(token: Token) -> Sequence[Face]:
    """The faces of a token as the detector means them: of a frame that was not looked at, all
    are carried there from others."""
    if "detect.carried" not in token.fields:
        return token.faces
    return [replace(face, sighting=Sighting.CARRIED) for face in token.faces]


def _bytes(sample: Sample) -> bytes:
    import numpy as np

    return sample.astype(np.uint8).tobytes()


def _sample(data: bytes) -> Sample | None:
    """The sample of such bytes."""
    import numpy as np

    return np.frombuffer(data, np.uint8).astype(np.int16) if data else None
