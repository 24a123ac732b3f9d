"""What can go wrong, by meaning. Each error names the thing and the cure, and has an exit status.

An error crosses from a worker to the caller as plain data (``to_wire``) and is the same class
again on the other side (``from_wire``), so the command line and the Python door report alike.
"""

from __future__ import annotations

import errno
import re
import signal
import traceback
from typing import Any, ClassVar

from mpflow.urls import hide_credentials

EXIT_OK = 0
EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_REFUSED = 4
EXIT_DEGRADED = 5
EXIT_RESOURCES = 6
EXIT_EXPOSED = 7
EXIT_UNMARKED = 8
EXIT_CONTRADICTION = 9
EXIT_SIGINT = 130
EXIT_SIGPIPE = 141
EXIT_SIGTERM = 143


LONGEST_TRACEBACK = 16_000
"""Characters of a traceback that travel; the end of it is what counts."""

LONGEST_TEXT = 8_000
"""Characters that travel of what an error says."""


class MpflowError(Exception):
    """Base of all errors of mpflow: ``what`` happened and the ``cure``, if one is known.

    Whoever is told of it, in whatever way, is not told what lets somebody in by a URL.
    """

    exit_status: ClassVar[int] = EXIT_INTERNAL

    def __init__(self, what: str, *, cure: str = "", facts: dict[str, Any] | None = None) -> None:
        self.what = hide_credentials(what)
        self.cure = hide_credentials(cure)
        super().__init__(self.what, self.cure)
        self.facts = dict(facts or {})
        self.remote_traceback = ""

    def __str__(self) -> str:
        return f"{self.what} ({self.cure})" if self.cure else self.what


class InternalError(MpflowError):
    """A fault of mpflow itself, or an exception nobody expected."""


class ContractError(InternalError):
    """A stage broke the contract of mpflow.stage; the text names the stage."""


class StageDied(InternalError):
    """A worker ended while it was needed; facts: stage, worker, pid, exit_code, signal."""


class PeerLost(InternalError):
    """The process at the other end (the supervisor, or the caller) is gone."""


class ConfigError(MpflowError):
    """Wrong usage or configuration: an unknown option, key, preset, stage or encoder."""

    exit_status = EXIT_USAGE


class InputError(MpflowError):
    """The input is missing, unreadable, or has no picture to work on."""

    exit_status = EXIT_INPUT


class OutputError(MpflowError):
    """The output cannot be written where it was asked for."""

    exit_status = EXIT_USAGE


class ReaderGone(OutputError):
    """Whoever read standard output has left, as ``head`` and a player that is closed do."""

    exit_status = EXIT_SIGPIPE


class Refused(MpflowError):
    """Refused by policy."""

    exit_status = EXIT_REFUSED


class Degraded(MpflowError):
    """Finished, but with frames degraded or skipped, under ``strict``."""

    exit_status = EXIT_DEGRADED


class ResourceError(MpflowError):
    """Not enough disk, shared memory or memory."""

    exit_status = EXIT_RESOURCES


class ModelError(MpflowError):
    """A model is missing, has the wrong hash, or does not fit its description."""

    exit_status = EXIT_USAGE


class NoFrameLeft(MpflowError):
    """Every frame was dropped, so there is nothing to make an output of."""


class Interrupted(MpflowError):
    """Stopped by Ctrl-C; the output so far is playable under the partial name."""

    exit_status = EXIT_SIGINT


class Terminated(Interrupted):
    """Stopped by SIGTERM; the output so far is playable under the partial name."""

    exit_status = EXIT_SIGTERM


def interruption(number: int, cure: str = "nothing had been written yet") -> Interrupted:
    """The error of a run that a signal stopped."""
    kind = Interrupted if number == signal.SIGINT else Terminated
    return kind(f"stopped by {signal.Signals(number).name}", cure=cure)


_CLASSES: dict[str, type[MpflowError]] = {
    cls.__name__: cls
    for cls in (
        MpflowError,
        InternalError,
        ContractError,
        StageDied,
        PeerLost,
        ConfigError,
        InputError,
        OutputError,
        ReaderGone,
        Refused,
        Degraded,
        ResourceError,
        ModelError,
        NoFrameLeft,
        Interrupted,
        Terminated,
    )
}


def to_wire(error: BaseException) -> dict[str, Any]:
    """Turn any exception into plain data; one that is not an MpflowError becomes InternalError."""
    text = "".join(traceback.format_exception(error))[-LONGEST_TRACEBACK:]
    if isinstance(error, MpflowError):
        return {
            "type": _wire_name(type(error)),
            "what": error.what[:LONGEST_TEXT],
            "cure": error.cure[:LONGEST_TEXT],
            "facts": error.facts,
            "traceback": error.remote_traceback or text,
        }
    what = f"{type(error).__name__}: {error}"[:LONGEST_TEXT]
    return {"type": "InternalError", "what": what, "cure": "", "facts": {}, "traceback": text}


def describe(error: BaseException) -> str:
    """An exception in one line: what it says of itself, or its type where it says nothing."""
    if isinstance(error, MpflowError):
        return error.what[:LONGEST_TEXT]
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text[:LONGEST_TEXT]


_NO_MEMORY = re.compile(
    r"out of memory|out_of_memory|failed to allocate|cannot allocate memory|bad[ _]alloc"
    r"|insufficient memory|alloc_failed|cudaerrormemoryallocation",
    re.IGNORECASE,
)
"""What libraries without an exception of their own for it say: onnxruntime ("Failed to allocate
memory for requested buffer of size"), CUDA and what stands on it ("CUDA_ERROR_OUT_OF_MEMORY",
"CUBLAS_STATUS_ALLOC_FAILED"), OpenCV ("Insufficient memory"), C++ ("std::bad_alloc")."""

_LONGEST_CHAIN = 8


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception, or one that it was raised over, says that memory ran out.

    That may be the device's: cupy and torch name their class ``OutOfMemoryError``. An error of
    ours has its own meaning, whatever its text says.
    """
    cause: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if cause is None or isinstance(cause, MpflowError):
            return False
        if isinstance(cause, MemoryError) or "OutOfMemory" in type(cause).__name__:
            return True
        if isinstance(cause, OSError):
            return cause.errno == errno.ENOMEM
        if _NO_MEMORY.search(str(cause)):
            return True
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return False


def from_wire(data: dict[str, Any]) -> MpflowError:
    """Rebuild the error that ``to_wire`` packed, with its traceback as text."""
    cls = _CLASSES.get(str(data.get("type")), InternalError)
    error = cls(str(data.get("what")), cure=str(data.get("cure", "")), facts=data.get("facts"))
    error.remote_traceback = str(data.get("traceback", ""))
    return error


def _wire_name(cls: type[MpflowError]) -> str:
    """Name the nearest class the other side knows: a subclass from outside travels as its base."""
    return next(base.__name__ for base in cls.__mro__ if base.__name__ in _CLASSES)
