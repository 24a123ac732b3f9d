"""A frame's final token as one JSON line, for programs (docs/reports.md describes it).

{"frame": 12, "pts": 12, "time": 0.48, "state": "live", "mode": "throughput", "retries": 0,
 "ops": [], "stages": [{"stage": "detect", "worker": 0, "taken": 1.2, "started": 1.2,
 "ended": 1.21}], "changes": [], "degradations": [], "faces": [...], "fields": {}}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from mpflow.tokens import Change, Face, Stamp, Token

_FRAME = re.compile(rb'\{"frame":(\d+),')

TOKENS_BEGIN = re.compile(rb'\{"frame":\d+,"pts":[^,]+,"time":[^,]+,"state":"\w+","mode":')
"""How a file of such lines begins."""

_encode = msgspec.json.Encoder().encode


def token_line(token: Token, begun: int) -> bytes:
    """The line of a token; stamps are seconds since ``begun``, which is in nanoseconds."""
    line = {
        "frame": token.seq,
        "pts": token.pts,
        "time": token.time,
        "state": token.state.value,
        "mode": token.mode.value,
        "retries": token.retries,
        "ops": token.ops,
        "born": _seconds(token.born, begun),
        "stages": [_stage(stamp, begun) for stamp in token.stamps],
        "changes": [_change(change) for change in token.changes],
        "degradations": token.degradations,
        "faces": face_values(token.faces),
        "fields": dict(token.fields),
    }
    return _encode(line) + b"\n"


def frame_of(line: bytes) -> int:
    """The frame a line is about; -1 for what is no such line."""
    found = _FRAME.match(line)
    return int(found[1]) if found else -1


def face_values(faces: Sequence[Face]) -> list[dict[str, Any]]:
    """Faces as plain values, pixels rounded to a thousandth."""
    return [_face(face) for face in faces]


def _face(face: Face) -> dict[str, Any]:
    values: dict[str, Any] = {
        "box": [round(side, 3) for side in face.box],
        "score": round(face.score, 3),
        "points": [[round(x, 3), round(y, 3)] for x, y in face.points],
    }
    if face.track is not None:
        values["track"] = face.track
    if face.identity is not None:
        values["identity"] = face.identity
    return values


def _stage(stamp: Stamp, begun: int) -> dict[str, Any]:
    return {
        "stage": stamp.stage,
        "worker": stamp.worker,
        "taken": _seconds(stamp.taken, begun),
        "started": _seconds(stamp.started, begun),
        "ended": _seconds(stamp.ended, begun),
    }


def _change(change: Change) -> dict[str, str]:
    return {"stage": change.stage, "what": change.what, "reason": change.reason}


def _seconds(moment: int, begun: int) -> float:
    return round((moment - begun) / 1e9, 6)
