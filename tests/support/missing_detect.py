"""The real detect stage, which misses every face on some frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mpflow.stage import Work
from mpflow.stages.detect import Detect, DetectOptions
from mpflow.tokens import Token


class MissingDetectOptions(DetectOptions, frozen=True):
    """On the frames ``blind`` nothing is found."""

    blind: tuple[int, ...] = ()


class MissingDetect(Detect):
    """Detect that is blind now and then."""

    Options = MissingDetectOptions
    options: MissingDetectOptions

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for token in super().process(batch):
            yield token.with_faces(()) if token.seq in self.options.blind else token
