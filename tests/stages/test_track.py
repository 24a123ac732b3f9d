"""The track stage: what it keeps on tokens, what it takes up again, and where it sees cuts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import walks

from mpflow.memory import MemorySlot
from mpflow.spec import Job, JobSpec, MediaInfo, VideoInfo
from mpflow.stage import StageContext, Work
from mpflow.stages.track import FIELD, Track, TrackOptions
from mpflow.tokens import Face, Sighting, Token

SIZE = 320, 240


VIDEO = VideoInfo(0, "raw", *SIZE, "yuv420p", "yuv420p", (1, 25))
JOB = Job(JobSpec("1", "in"), MediaInfo("in", "raw", VIDEO))


def begun(**options: Any) -> Track:
    """The stage at the beginning of an input."""
    stage = Track(TrackOptions(**options), StageContext("track"))
    stage.open()
    stage.begin(JOB)
    return stage


def pictures(*scenes: int) -> list[MemorySlot]:
    """Frames that show one of several walls each."""
    made = []
    for scene in scenes:
        slot = MemorySlot.of("yuv420p", *SIZE)
        patches = np.random.default_rng(scene).integers(16, 235, (12, 16), dtype=np.uint8)
        for plane in slot.frame().fill_planes():
            plane[...] = np.kron(patches, np.ones((20, 20), np.uint8))[
                : len(plane), : plane.shape[1]
            ]
        made.append(slot)
    return made


def run(stage: Track, tokens: Iterable[Token], slots: Iterable[MemorySlot]) -> list[Token]:
    """What the stage gives for these frames, and at the end."""
    given: list[Token] = []
    for token, slot in zip(tokens, slots, strict=True):
        given += stage.process([Work(token, slot.frame())])
    return given + list(stage.flush())


def standing(frames: int) -> list[Token]:
    return walks.tokens_of([[walks.face_at(100, 100)]] * frames)


def test_it_holds_what_it_looks_ahead() -> None:
    stage = begun(ahead=3)
    assert stage.holds == 3
    pairs = zip(standing(5), pictures(*[0] * 5), strict=True)
    given = [len(list(stage.process([Work(token, slot.frame())]))) for token, slot in pairs]
    assert given == [0, 0, 0, 1, 1]
    assert len(list(stage.flush())) == 3


def test_it_does_with_less_look_ahead_and_covers_by_where_the_face_was() -> None:
    stage = begun(ahead=6)
    assert (stage.least_holds, stage.may_hold) == (0, 6)
    tokens = walks.tokens_of(walks.walking(walks.straight(100, 100, 3), 12, missed=(4, 5, 6)))
    whole = run(stage, tokens, pictures(*[0] * 12))
    stage.room = 1
    stage.begin(JOB)
    pairs = zip(tokens, pictures(*[0] * 12), strict=True)
    given = [list(stage.process([Work(token, slot.frame())])) for token, slot in pairs]
    assert [len(each) for each in given] == [0] + [1] * 11
    less = [token for each in given for token in each] + list(stage.flush())
    for seq, (one, other) in enumerate(zip(whole, less, strict=True)):
        true = walks.face_at(100 + 3 * seq, 100)
        assert walks.covers(one.faces[0].box, true) and walks.covers(other.faces[0].box, true)
    assert [less[seq].faces[0].sighting.value for seq in (4, 5, 6)] == [
        "extended",
        "extended",
        "filled",
    ]
    stage.room = 6
    stage.begin(JOB)
    assert run(stage, tokens, pictures(*[0] * 12)) == whole, "the next job has room"


def test_a_cut_in_the_picture_ends_tracks() -> None:
    tokens = run(begun(ahead=2), standing(8), pictures(0, 0, 0, 0, 1, 1, 1, 1))
    assert [token.faces[0].track for token in tokens] == [0] * 4 + [1] * 4


@pytest.mark.parametrize("ahead", [0, 2])
@pytest.mark.parametrize("done", [1, 4, 5])
def test_a_successor_goes_on_as_if_nothing_had_happened(ahead: int, done: int) -> None:
    """Also right before and right behind a cut, which it has only one side of."""
    slots = pictures(0, 0, 0, 0, 1, 1, 1, 1)
    whole = run(begun(ahead=ahead), standing(8), slots)
    successor = begun(ahead=ahead)
    successor.recall([replace(token, ops=()) for token in whole[:done]])
    assert run(successor, standing(8)[done:], slots[done:]) == whole[done:]


def test_who_remembers_only_the_last_frames_gives_no_number_twice() -> None:
    """As in a live run, after an exception."""
    faces: list[list[Face]] = [[walks.face_at(60 * (n // 3), 100)] for n in range(12)]
    tokens = run(begun(ahead=0), walks.tokens_of(faces), pictures(*[n // 3 for n in range(12)]))
    given = {face.track for token in tokens for face in token.faces}
    successor = begun(ahead=0)
    successor.recall(tokens[-3:])
    later = run(successor, walks.tokens_of([[walks.face_at(60, 20)]], 12), pictures(9))
    assert later[0].faces[0].track not in given


def test_faces_of_a_frame_that_was_not_looked_at_are_carried_there() -> None:
    tokens = standing(3)
    tokens[2] = tokens[2].with_field("detect.carried", 1)
    given = run(begun(ahead=0), tokens, pictures(0, 0, 0))
    assert [token.faces[0].sighting for token in given] == [
        Sighting.SEEN,
        Sighting.SEEN,
        Sighting.CARRIED,
    ]
    assert {token.faces[0].track for token in given} == {0}


def test_what_is_kept_on_a_token_is_little_and_plain() -> None:
    (token, *_) = run(begun(), standing(12), pictures(*[0] * 12))
    finds, number, cut, next_cut, sample = token.fields[FIELD]
    assert isinstance(finds, bytes) and len(finds) == 62
    assert (number, cut, next_cut, sample) == (0, False, False, b"")
