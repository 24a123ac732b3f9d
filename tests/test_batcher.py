"""A batch goes when it is full, when its oldest frame has waited enough, or when no more come."""

import pytest

from mpflow.batcher import BatchPolicy

MS = 1_000_000


@pytest.mark.parametrize(
    ("size", "now_ms", "nothing_comes", "left_ms"),
    [
        (0, 0, False, 0),  # nothing to wait with
        (1, 0, False, 15),  # a young batch waits for more
        (3, 10, False, 5),  # what is left of the deadline
        (3, 15, False, 0),  # the deadline
        (3, 40, False, 0),  # long past it
        (4, 0, False, 0),  # full
        (1, 0, True, 0),  # nothing more will come
    ],
)
def test_wait_left(size: int, now_ms: int, nothing_comes: bool, left_ms: int) -> None:
    policy = BatchPolicy(max_batch=4, max_wait_ns=15 * MS)
    left = policy.wait_left(size, first=1000, now=1000 + now_ms * MS, nothing_comes=nothing_comes)
    assert left == left_ms * MS


def test_room_is_never_negative() -> None:
    assert [BatchPolicy(max_batch=2).room(size) for size in (0, 1, 2, 3)] == [2, 1, 0, 0]
