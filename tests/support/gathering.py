"""A stage from outside that wants its frames in batches, and notes how many came at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mpflow.stage import Options, Stage, Work
from mpflow.tokens import Token


class GatherOptions(Options, frozen=True):
    """The largest batch."""

    batch: int = 4


class Gather(Stage[GatherOptions]):
    """Notes the size of each frame's batch in a field of its token."""

    Options = GatherOptions
    options: GatherOptions

    @property
    def max_batch(self) -> int:
        return self.options.batch

    @property
    def max_wait_ms(self) -> float:
        return 1000.0

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for work in batch:
            yield work.token.with_field("gathering.batch", len(batch))
