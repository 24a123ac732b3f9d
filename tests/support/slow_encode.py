"""The real encoder, slowed down."""

from __future__ import annotations

import time

from mpflow.frame import Frame
from mpflow.stages.encode import Encode, EncodeOptions
from mpflow.tokens import Token


class SlowOptions(EncodeOptions, frozen=True):
    """How much longer each frame takes."""

    delay_ms: float = 0.5


class SlowEncode(Encode):
    """Takes longer over each frame."""

    Options = SlowOptions
    options: SlowOptions

    def write(self, token: Token, frame: Frame) -> None:
        time.sleep(self.options.delay_ms / 1000)  # an encoder that takes so long a frame
        super().write(token, frame)
