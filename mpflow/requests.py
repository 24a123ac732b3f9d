"""What may be asked of a running pipeline from outside, and what it answers.

One msgpack map a message, over a SEQPACKET socket (mpflow.controlsocket):

    {"kind": "set", "key": "detect.every", "value": "2"}
        -> {"kind": "answer", "text": "detect.every is 2 from now on"}
        -> {"kind": "error", "error": {"type": "ConfigError", "what": ..., "cure": ...}}
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from mpflow import errors
from mpflow.errors import ConfigError, InternalError, MpflowError
from mpflow.snapshot import Snapshot

MAX_REQUEST = 16 * 1024
MAX_ANSWER = 192 * 1024
"""Bytes of one message. A socket's buffer has room for 208 KiB unless it is told otherwise."""


class _Said(msgspec.Struct, frozen=True, tag_field="kind", tag=str.lower):
    """One message. Unknown keys are passed over: the other side may be of another version."""


class Hello(_Said, frozen=True):
    """Who is there?"""


class Stats(_Said, frozen=True):
    """How does it go?"""


class Set(_Said, frozen=True):
    """Change an option, ``STAGE.OPTION``; the value as it was typed."""

    key: str
    value: str


class Skip(_Said, frozen=True):
    """Leave a stage out from now on."""

    stage: str


class Unskip(_Said, frozen=True):
    """Take a stage in again."""

    stage: str


class SetMode(_Said, frozen=True, tag="mode"):
    """Run in one mode, or in the one that the load asks for."""

    mode: Literal["single", "throughput", "auto"]


class Stop(_Said, frozen=True):
    """End the run in order."""


class Preview(_Said, frozen=True):
    """Write the next frame as a picture; an empty path is the one that the job has."""

    path: str = ""


Request: TypeAlias = Hello | Stats | Set | Skip | Unskip | SetMode | Stop | Preview


class Identity(msgspec.Struct, frozen=True):
    """Which run answers: its id, the name it was given, its process, and what it is at."""

    run: str
    name: str
    pid: int
    preset: str
    job: str = ""
    state: str = ""
    live: bool = False
    uptime: float = 0.0
    version: str = ""


class Answer(_Said, frozen=True, omit_defaults=True):
    """What was done, as a sentence; ``path`` is the picture of a preview."""

    text: str = ""
    hello: Identity | None = None
    snapshot: Snapshot | None = None
    path: str = ""


class Failure(_Said, frozen=True, tag="error"):
    """Why it was not done, as mpflow.errors packs it."""

    error: dict[str, Any]


def pack(message: Request | Answer | Failure) -> bytes:
    """One message as bytes."""
    return _ENCODER.encode(message)


def read_request(data: bytes) -> Request:
    """Read what a client asks; raises ConfigError that says what is wrong with it."""
    try:
        return _REQUESTS.decode(data)
    except msgspec.DecodeError as error:
        raise ConfigError(
            f"that is no request: {error}",
            cure="is mpflow there of the same version as here?",
        ) from error


def read_answer(data: bytes) -> Answer:
    """Read what a run answers; raises the error that it answers with."""
    try:
        answer = _ANSWERS.decode(data)
    except msgspec.DecodeError as error:
        raise InternalError(
            f"the run's answer cannot be read: {error}",
            cure="is mpflow there of the same version as here?",
        ) from error
    if isinstance(answer, Failure):
        raise errors.from_wire(answer.error)
    return answer


def failure(error: MpflowError) -> Failure:
    """An error as an answer, without the traceback: that belongs into the run's own log."""
    return Failure({**errors.to_wire(error), "traceback": ""})


_ENCODER = msgspec.msgpack.Encoder(enc_hook=str)
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_ANSWERS: msgspec.msgpack.Decoder[Answer | Failure] = msgspec.msgpack.Decoder(Answer | Failure)
