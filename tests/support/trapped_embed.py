"""The embed stage with a trap: see trap_stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trap_stages import Trap

from mpflow.stage import Work
from mpflow.stages.embed import Embed, EmbedOptions
from mpflow.tokens import Token


class TrappedEmbedOptions(EmbedOptions, frozen=True):
    """See trap_stages.TrapOptions."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""


class TrappedEmbed(Trap, Embed):
    """Embed with a trap."""

    Options = TrappedEmbedOptions
    options: TrappedEmbedOptions

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for work in batch:
            self.spring(work.token.seq)
        return super().process(batch)
