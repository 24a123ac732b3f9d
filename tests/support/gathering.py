"""A stage from outside that wants its frames in batches, and notes how many came at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from mpflow.stage import Options, Stage, Work
from mpflow.tokens import Token


class GatherOptions(Options, frozen=True):
    """The largest batch, how long it waits to be full, and how long it takes."""

    batch: int = 4
    wait_ms: float = 1000.0
    delay_ms: float = 0


class Gather(Stage[GatherOptions]):
    """Notes the size of each frame's batch in a field of its token."""

    Options = GatherOptions
    options: GatherOptions

    @property
    def max_batch(self) -> int:
        return self.options.batch

    @property
    def max_wait_ms(self) -> float:
        return self.options.wait_ms

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        time.sleep(self.options.delay_ms / 1000)  # a stage that takes so long a batch
        for work in batch:
            yield work.token.with_field("gathering.batch", len(batch))
