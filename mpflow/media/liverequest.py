"""What is asked of a live output, and whom it tells what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from mpflow.media.declaration import SILENT, Declaration
from mpflow.media.destination import Caution
from mpflow.media.livecoder import LiveSettings
from mpflow.tokens import Token


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """How a live output is to be made; see the options of ``send``."""

    settings: LiveSettings
    audio: bool = True
    audio_bitrate: str = "128k"
    caution: Caution = field(default_factory=Caution)
    retry: float = 30.0
    note: str = ""
    said: Declaration = SILENT


@dataclass(frozen=True, slots=True)
class Voice:
    """Whom the output tells: warnings, alerts by kind, counters, waits, and pictures that it had
    taken and never delivered. ``leaving`` says that the job is to be left."""

    warn: Callable[[str], None] = lambda text: None
    alert: Callable[[str, str], None] = lambda kind, text: None
    count: Callable[[str, int], None] = lambda counter, more: None
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    leaving: Callable[[], bool] = lambda: False
    recant: Callable[[Token, str], None] = lambda token, why: None
