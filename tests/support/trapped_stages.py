"""The stages of the main job, each with a trap: see trap_stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trap_stages import Trap

from mpflow.frame import Frame
from mpflow.spec import BEGINNING, Place
from mpflow.stage import Picture, Work
from mpflow.stages.decode import Decode, DecodeOptions
from mpflow.stages.detect import Detect, DetectOptions
from mpflow.stages.encode import Encode, EncodeOptions
from mpflow.stages.redact import Redact, RedactOptions
from mpflow.tokens import Token


class TrappedDecodeOptions(DecodeOptions, frozen=True):
    """See trap_stages.TrapOptions."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""


class TrappedDecode(Trap, Decode):
    """Decode with a trap."""

    Options = TrappedDecodeOptions
    options: TrappedDecodeOptions

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        for number, picture in enumerate(super().pictures(place), place.frame):
            self.spring(number)
            yield picture


class TrappedDetectOptions(DetectOptions, frozen=True):
    """See trap_stages.TrapOptions."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""


class TrappedDetect(Trap, Detect):
    """Detect with a trap."""

    Options = TrappedDetectOptions
    options: TrappedDetectOptions

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            self.spring(work.token.seq)
        return super().process(batch)


class TrappedRedactOptions(RedactOptions, frozen=True):
    """See trap_stages.TrapOptions; the trap snaps when a frame is covered, and not given on."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""


class TrappedRedact(Trap, Redact):
    """Redact with a trap."""

    Options = TrappedRedactOptions
    options: TrappedRedactOptions

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for token in super().process(batch):
            self.spring(token.seq)
            yield token


class TrappedEncodeOptions(EncodeOptions, frozen=True):
    """See trap_stages.TrapOptions; the trap snaps when a frame has been given to the encoder."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""


class TrappedEncode(Trap, Encode):
    """Encode with a trap."""

    Options = TrappedEncodeOptions
    options: TrappedEncodeOptions

    def write(self, token: Token, frame: Frame) -> None:
        super().write(token, frame)
        self.spring(token.seq)
