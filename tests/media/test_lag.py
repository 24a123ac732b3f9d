"""What is left out when decoding cannot keep up: by tables."""

from __future__ import annotations

import pytest
from av import Packet

from mpflow.media.lag import Effort, Lag, Pace

ALL, REFERENCES, KEY = Effort.ALL, Effort.REFERENCES, Effort.NEXT_KEY


@pytest.mark.parametrize(
    ("course", "efforts"),
    [
        ([(0, 0.0), (1, 0.4)], [ALL, ALL]),
        ([(0, 0.6), (1, 0.3), (2, 0.1)], [REFERENCES, REFERENCES, ALL]),
        ([(0, 0.3)], [ALL]),
        ([(0, 2.0), (0.4, 2.0), (0.5, 2.0)], [REFERENCES, REFERENCES, KEY]),
        ([(0, 2.0), (0.5, 1.5), (1.0, 1.1), (1.5, 0.9)], [REFERENCES] * 4),
        ([(0, 2.0), (0.5, 1.5), (1.0, 1.5)], [REFERENCES, REFERENCES, KEY]),
        ([(0, 2.0), (0.3, 0.8), (0.6, 2.0)], [REFERENCES] * 3),
        ([(0, 2.0), (0.5, 2.0), (0.6, 0.01)], [REFERENCES, KEY, ALL]),
    ],
)
def test_effort(course: list[tuple[float, float]], efforts: list[Effort]) -> None:
    lag, seen = Lag(1.0), []
    for now, backlog in course:
        lag = lag.seen(backlog, now)
        seen.append(lag.effort)
    assert seen == efforts


def packet(*, key: bool) -> Packet[object]:
    made: Packet[object] = Packet(b"x")
    made.is_keyframe = key
    return made


def test_a_file_goes_on_at_a_key_frame_that_is_not_late() -> None:
    pace = Pace(1.0, seeks=True)
    key, other = packet(key=True), packet(key=False)
    assert pace.wants(other, 2.0, 0.0)
    assert not pace.wants(other, 2.0, 0.5)
    assert pace.has_given_up
    assert not pace.wants(key, 0.9, 0.6)
    assert not pace.wants(other, 0.2, 0.7)
    assert pace.wants(key, 0.2, 0.8)
    assert pace.wants(other, 0.2, 0.9)


def test_a_stream_goes_on_with_what_it_is_given() -> None:
    pace = Pace(1.0, seeks=False)
    assert pace.wants(packet(key=False), 2.0, 0.0)
    assert not pace.wants(packet(key=False), 2.0, 0.5)
    assert pace.has_given_up
    assert pace.wants(packet(key=True), 1.5, 0.6)
    assert not pace.has_given_up
