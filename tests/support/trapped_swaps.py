"""The stages that make, lay and mark faces, each with a trap: see trap_stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trap_stages import Trap

from mpflow.stage import Work
from mpflow.stages.blend import Blend, BlendOptions
from mpflow.stages.mark import Mark, MarkOptions
from mpflow.stages.swap import Swap, SwapOptions
from mpflow.tokens import Token


class TrappedSwapOptions(SwapOptions, frozen=True):
    """See trap_stages.TrapOptions; this trap and the others snap when a frame is done, and not
    given on."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""


class TrappedSwap(Trap, Swap):
    """Swap with a trap."""

    Options = TrappedSwapOptions
    options: TrappedSwapOptions

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for token in super().process(batch):
            self.spring(token.seq)
            yield token


class TrappedBlendOptions(BlendOptions, frozen=True):
    """See trap_stages.TrapOptions."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""


class TrappedBlend(Trap, Blend):
    """Blend with a trap."""

    Options = TrappedBlendOptions
    options: TrappedBlendOptions

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for token in super().process(batch):
            self.spring(token.seq)
            yield token


class TrappedMarkOptions(MarkOptions, frozen=True):
    """See trap_stages.TrapOptions."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""


class TrappedMark(Trap, Mark):
    """Mark with a trap."""

    Options = TrappedMarkOptions
    options: TrappedMarkOptions

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for token in super().process(batch):
            self.spring(token.seq)
            yield token
