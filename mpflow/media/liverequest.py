"""What is asked of a live output, and whom it tells what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from mpflow.media.destination import Caution
from mpflow.media.livecoder import LiveSettings


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """How a live output is to be made; see the options of ``send``."""

    settings: LiveSettings
    audio: bool = True
    audio_bitrate: str = "128k"
    caution: Caution = field(default_factory=Caution)
    retry: float = 30.0


@dataclass(frozen=True, slots=True)
class Voice:
    """Whom the output tells: warnings, alerts by kind, counters, and waits."""

    warn: Callable[[str], None] = lambda text: None
    alert: Callable[[str, str], None] = lambda kind, text: None
    count: Callable[[str, int], None] = lambda counter, more: None
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
