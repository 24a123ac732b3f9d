"""Between two looks a face stays in its box, and whatever makes that doubtful asks for a look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.memory import MemorySlot
from mpflow.models.carry import CLEAR, STIRRED, WARY, Carrier, Every, Plan, Sight
from mpflow.models.looks import (
    LEAST,
    LONGEST_S,
    SPEED,
    Look,
    View,
    between,
    motion,
)
from mpflow.policies.pace import Motion
from mpflow.tokens import Face, Sighting, Token
from mpflow.wire import pack, unpack

FPS = 30
FLAT = np.full((18, 32), 100, np.int16)
SCENE = np.random.default_rng(2).integers(0, 256, FLAT.shape).astype(np.int16)
FACE = Face((100, 100, 140, 150), 0.9, ((110, 110),) * 5)
AWAY = Face((600, 300, 640, 350), 0.7, ((610, 310),) * 5)


def view(seq: int = 0, time: float | None = -1.0, sample: Any = FLAT) -> View:
    return View(seq, seq / FPS if time == -1.0 else time, sample)


def reaches(look: View, here: View, every: Every) -> bool:
    apart, numbered = (5, False) if every == "auto" else (every, True)
    nothing: Any = None
    return Sight(token(here.seq), nothing, here, apart, numbered).reached_from(look)


def token(seq: int) -> Token:
    return Token("run", seq, pts=seq, time_base=(1, FPS))


def slot(value: int, name: str = "yuv420p", size: tuple[int, int] = (64, 48)) -> MemorySlot:
    made = MemorySlot.of(name, *size)
    for plane in made.frame().fill_planes():
        plane[...] = value
    return made


def moved(face: Face, x: float, y: float = 0.0) -> Face:
    x1, y1, x2, y2 = face.box
    return Face((x1 + x, y1 + y, x2 + x, y2 + y), face.score)


def inside(face: Face, other: Face) -> bool:
    one, wide = np.array(face.box), np.array(other.box)
    return bool((wide[:2] <= one[:2] + 1e-6).all() and (wide[2:] >= one[2:] - 1e-6).all())


@pytest.mark.parametrize(
    ("seq", "every", "reached"),
    [
        (1, 2, True),
        (2, 2, False),  # its own look is due
        (1, 1, False),
        (4, 5, True),
        (5, 5, False),
        (0, 3, False),  # the frame itself, made again
    ],
)
def test_a_look_reaches_as_far_as_every_says(seq: int, every: int, reached: bool) -> None:
    assert reaches(view(), view(seq), every) is reached


def test_the_frames_that_are_looked_at_have_set_numbers() -> None:
    """A run that goes on at frame 7 looks at 7, and then at the frames it would have looked at."""
    assert [n for n in range(8, 16) if not reaches(view(7), view(n), 4)][:1] == [8]


def test_a_gap_of_frames_or_of_time_asks_for_a_look() -> None:
    assert not reaches(view(1), view(4), 3)  # 2 and 3 were dropped
    assert not reaches(view(), view(1, time=LONGEST_S + 0.1), 10)
    assert not reaches(view(5), view(6, time=0.0), 10)  # the clock went back
    assert reaches(view(), view(1, time=None), 10)


def test_another_scene_asks_for_a_look_and_noise_does_not() -> None:
    noise = FLAT + np.random.default_rng(1).integers(-6, 7, FLAT.shape, np.int16)
    assert reaches(view(), view(1, sample=noise), 2)
    assert not reaches(view(), view(1, sample=SCENE), 2)


@given(
    frames=st.integers(1, 10),
    speed=st.floats(0, SPEED),
    angle=st.floats(0, 6.3),
    place=st.tuples(*[st.floats(-50, 2000)] * 2, *[st.floats(4, 400)] * 2),
    back=st.booleans(),
)
def test_a_face_that_moves_no_faster_than_expected_stays_inside(
    frames: int,
    speed: float,
    angle: float,
    place: tuple[float, float, float, float],
    back: bool,
) -> None:
    x, y, width, height = place
    face = Face((x, y, x + width, y + height), 0.9)
    here, there = (view(frames), view()) if back else (view(), view(frames))
    (grown,) = here.grown([face], there)
    way = speed * max(width, height) * frames / FPS
    assert inside(moved(face, way * np.cos(angle), way * np.sin(angle)), grown)


def test_boxes_grow_with_every_frame_even_without_a_clock() -> None:
    widths = []
    for frames in range(1, 5):
        (face,) = view(time=None).grown([FACE], view(frames, time=None))
        widths.append(face.box[2] - face.box[0])
    assert widths == pytest.approx([40 + 2 * LEAST * 50 * n for n in range(1, 5)])


def test_carried_faces_keep_their_score_and_have_no_points() -> None:
    (face,) = view().grown([FACE], view(1))
    assert (face.score, face.points, face.track) == (0.9, (), None)


@pytest.mark.parametrize("step", [0.25, 0.5, 0.75])
def test_a_face_in_both_looks_is_covered_from_one_place_to_the_other(step: float) -> None:
    far = moved(FACE, 30, -20)
    before, after = Look(view(0), [FACE]), Look(view(4), [far])
    here = view(round(4 * step))
    (face,) = between(before, here, after)
    assert inside(moved(FACE, 30 * step, -20 * step), face)
    assert inside(FACE, face) and inside(far, face)
    assert face.score == 0.9


def test_a_face_of_one_look_alone_is_covered_too() -> None:
    came = between(Look(view(0), [FACE]), view(1), Look(view(2), [FACE, AWAY]))
    went = between(Look(view(0), [FACE, AWAY]), view(1), Look(view(2), [FACE]))
    for faces in (came, went):
        assert len(faces) == 2
        assert any(inside(AWAY, face) for face in faces)


def test_one_face_that_goes_beside_one_that_comes_is_not_taken_for_one_that_moves_only() -> None:
    """Where the boxes of two looks do not touch they may be two people: either may move on."""
    came = moved(FACE, 50)
    looks = Look(view(0), [FACE]), Look(view(4), [came])
    for here in map(view, range(1, 4)):
        faces = between(looks[0], here, looks[1])
        for look in looks:
            (grown,) = look.view.grown(look.faces, here)
            assert any(inside(grown, face) for face in faces)


def test_two_faces_side_by_side_are_told_apart_by_the_nearer_place() -> None:
    other = moved(FACE, 45)
    looks = Look(view(0), [FACE, other]), Look(view(2), [moved(other, 4), moved(FACE, 4)])
    first, second = between(looks[0], view(1), looks[1])
    assert first.box[2] < other.box[2] and second.box[0] > FACE.box[0]


class Looker:
    """Frames go in, tokens come out; ``there`` says which faces a look finds on a frame."""

    def __init__(self, there: Callable[[int], list[Face]], ahead: int = 0, glance: int = 0) -> None:
        self.carrier = Carrier(ahead, most=5, glance=glance)
        self.looks: list[int] = []
        self.close: list[int] = []
        self._there = there

    def see(self, *seqs: int, every: Every, values: Any = 90, **musts: bool) -> list[Token]:
        """One batch; ``values`` is the brightness of the pictures, or one for each frame."""
        bright = values if isinstance(values, dict) else dict.fromkeys(seqs, values)
        frames = [(token(n), slot(bright[n]).frame(), musts.get(f"n{n}", False)) for n in seqs]
        return self._give(self.carrier.plan(frames, every))

    def flush(self) -> list[Token]:
        return self._give(self.carrier.last_plan())

    def _give(self, plan: Plan) -> list[Token]:
        due = [sight.view.seq for sight, looked_at in plan if looked_at]
        self.looks += due
        self.close += [sight.view.seq for sight, looked_at in plan if looked_at and sight.close]
        return list(self.carrier.given(plan, [self._there(seq) for seq in due]))


def seqs(tokens: list[Token]) -> list[int]:
    return [each.seq for each in tokens]


def counts(tokens: list[Token]) -> list[int]:
    return [len(each.faces) for each in tokens]


def always(seq: int) -> list[Face]:
    return [FACE]


def test_the_first_frame_and_each_nth_are_looked_at() -> None:
    for every, looks in ((3, [0, 3, 6]), (1, list(range(7)))):
        looker = Looker(always)
        looker.see(*range(7), every=every)
        assert looker.looks == looks


def test_a_frame_under_suspicion_is_looked_at() -> None:
    looker = Looker(always, ahead=9)
    looker.see(*range(4), every=10, n2=True)
    assert looker.looks == [0, 2]


def test_looks_that_failed_are_not_remembered() -> None:
    carrier = Carrier()
    for _ in range(2):
        ((_, looks),) = carrier.plan([(token(0), slot(90).frame(), False)], 5)
        assert looks


def test_frames_wait_for_the_next_look_and_come_in_their_order() -> None:
    looker = Looker(lambda seq: [FACE, AWAY] if seq >= 3 else [FACE], ahead=2)
    given = looker.see(*range(8), every=3)
    assert seqs(given) == [0, 1, 2, 3, 4, 5, 6]
    assert counts(given) == [1, 2, 2, 2, 2, 2, 2]
    assert [each.fields.get("detect.carried") for each in given] == [None, 1, 2, None, 1, 2, None]
    (last,) = looker.flush()
    assert (last.seq, len(last.faces), looker.flush()) == (7, 2, [])


@pytest.mark.parametrize("batch", [1, 2, 8])
@pytest.mark.parametrize("ahead", [0, 1, 2, 9])
def test_no_frame_goes_before_a_look_behind_it_however_few_may_wait(ahead: int, batch: int) -> None:
    """A face comes in with frame 1; the frames with numbers that five divides are looked at."""
    looker = Looker(lambda seq: [FACE] if seq else [], ahead)
    given = []
    for first in range(0, 16, batch):
        given += looker.see(*range(first, first + batch), every=5)
        assert len(looker.carrier._waiting) <= ahead
    given += looker.flush()
    assert seqs(given) == list(range(16))
    assert counts(given) == [0] + [1] * 15
    together = max(ahead + 1, batch)
    assert len(looker.looks) <= 16 / min(together, 5) + 16 / batch + 1


def test_with_nothing_to_wait_for_each_frame_of_its_own_is_looked_at() -> None:
    looker = Looker(always)
    for seq in range(6):
        assert seqs(looker.see(seq, every=3)) == [seq]
    assert looker.looks == list(range(6))


@pytest.mark.parametrize("every", [1, 2, 3, 5])
def test_a_frame_that_waits_while_every_is_changed_gets_the_faces_of_the_next_look(
    every: int,
) -> None:
    looker = Looker(lambda seq: [FACE] if seq else [], ahead=4)
    assert seqs(looker.see(0, 1, every=2)) == [0]
    given = looker.see(2, every=every) + looker.flush()
    assert (seqs(given), counts(given)) == ([1, 2], [1, 1])


@pytest.mark.parametrize("following", [3, 20, 90])
def test_a_frame_with_a_gap_behind_it_is_looked_at_itself(following: int) -> None:
    """Frames were dropped before the look that it waited for; a face was there meanwhile."""
    looker = Looker(lambda seq: [FACE] if seq == 1 else [], ahead=2)
    looker.see(0, 1, every=2)
    given = looker.see(following, every=2)
    assert (seqs(given), counts(given)) == ([1, following], [1, 0])
    assert looker.looks == [0, 1, following]


def test_a_frame_whose_next_look_is_late_is_looked_at_itself() -> None:
    """One frame every 0.4 s: the look behind it is as near as the one before, the next is not."""
    looker = Looker(lambda seq: [FACE] if seq == 1 else [], ahead=2)
    times = {0: 0, 1: 12, 2: 30}
    given = []
    for seq, pts in times.items():
        card = replace(token(seq), pts=pts)
        given += looker._give(looker.carrier.plan([(card, slot(90).frame(), False)], 2))
    assert counts(given) == [0, 1, 0]


def test_what_comes_back_out_of_order_is_looked_at() -> None:
    """A successor may get a frame that was taken before; it lies between no two looks."""
    looker = Looker(lambda seq: [FACE] if seq == 5 else [], ahead=4)
    given = looker.see(4, 5, every=4) + looker.see(3, every=4)
    assert (seqs(given), counts(given)) == ([4, 5, 3], [0, 1, 0])


def test_at_the_end_what_waits_is_looked_at_once() -> None:
    looker = Looker(lambda seq: [FACE] if seq else [], ahead=4)
    looker.see(*range(4), every=5)
    given = looker.flush()
    assert (seqs(given), counts(given), looker.looks) == ([1, 2, 3], [1, 1, 1], [0, 3])


def test_a_look_at_another_scene_says_nothing_of_the_frames_before_it() -> None:
    """A face comes in with frame 1, the cut is before 3: 2 is looked at, and 1 lies before it."""
    looker = Looker(lambda seq: [FACE] if 0 < seq < 3 else [], ahead=5)
    given = looker.see(*range(4), every=5, values={0: 90, 1: 90, 2: 90, 3: 200})
    assert (counts(given), looker.looks) == ([0, 1, 1, 0], [0, 2, 3])


def test_frames_that_differ_little_by_little_lie_between_no_looks() -> None:
    """Each is like the one before, and the last look is like none of them but its neighbour."""
    looker = Looker(lambda seq: [FACE] if 0 < seq < 3 else [], ahead=9)
    given = looker.see(*range(4), every=9, values={n: 90 + 20 * n for n in range(4)})
    given += looker.flush()
    assert counts(given) == [0, 1, 1, 0]


def test_motion_decides_how_far_looks_are_apart() -> None:
    """Somebody stands still, then moves, then stands still again."""
    place = [0.0] * 20 + [12.0 * n for n in range(10)] + [108.0] * 20
    looker = Looker(lambda seq: [moved(FACE, place[seq])], ahead=4)
    for seq in range(50):
        looker.see(seq, every="auto")
    steps = np.diff(looker.looks)
    assert steps[:5].tolist() == [1, 2, 3, 4, 5]
    moving = [step for step, at in zip(steps, looker.looks, strict=False) if 22 <= at < 28]
    assert max(moving) <= 2
    assert steps[-1] == 5


@pytest.mark.parametrize("died", [1, 7, 18, 23, 29, 41])
def test_a_successor_looks_at_the_frames_that_the_one_before_would_have(died: int) -> None:
    """Given on are some of the frames; those that waited come again."""
    place = [0.0] * 20 + [9.0 * n for n in range(10)] + [81.0] * 20
    alone = Looker(lambda seq: [moved(FACE, place[seq])], ahead=4)
    undisturbed = [each for seq in range(50) for each in alone.see(seq, every="auto")]
    undisturbed += alone.flush()
    first, second = (Looker(lambda seq: [moved(FACE, place[seq])], ahead=4) for _ in range(2))
    given = [each for seq in range(died) for each in first.see(seq, every="auto")]
    second.carrier.recall([unpack(pack(each)) for each in given])
    for seq in range(len(given), 50):
        given += second.see(seq, every="auto")
    given += second.flush()
    assert [each.faces for each in given] == [each.faces for each in undisturbed]


def looked(there: Callable[[int], list[Face]], frames: int = 60) -> Looker:
    """Looks where glances are made, whose pictures are as large as the frames."""
    looker = Looker(there, ahead=4, glance=64)
    for seq in range(frames):
        looker.see(seq, every="auto")
    return looker


def test_most_looks_are_glances_and_every_tenth_frame_is_looked_at_closely() -> None:
    looker = looked(always)
    assert looker.looks[:8] == [0, 1, 3, 6, 10, 15, 20, 25]
    assert looker.close[:5] == [0, 1, 10, 20, 30]
    assert Looker(always).carrier.glance == 0


def test_no_glance_is_made_while_there_is_a_face_that_it_may_miss() -> None:
    small = Face((10, 10, 20, 10 + CLEAR - 1), 0.4, sighting=Sighting.WEAK)
    looker = looked(lambda seq: [FACE, small] if seq == 20 else [FACE], 80)
    looks = [n for n in looker.looks if 20 <= n < 20 + WARY]
    assert len(looks) > 5 and set(looks) <= set(looker.close)
    assert not set(looker.looks) <= set(looker.close)


def test_who_comes_or_goes_and_a_cut_have_the_next_look_be_close() -> None:
    looker = looked(lambda seq: [FACE, AWAY] if seq >= 24 else [FACE])
    (came,) = [n for n in looker.looks if 24 <= n <= 25]
    assert came + 1 in looker.close
    looker.see(60, every="auto", values=200)
    looker.see(61, every="auto", values=200)
    assert looker.close[-2:] == [60, 61]


@pytest.mark.parametrize("died", [2, 7, 12, 18, 23, 29, 41])
def test_a_successor_glances_where_the_one_before_would_have(died: int) -> None:
    small = Face((10, 10, 20, 22), 0.9)
    alone = looked(lambda seq: [FACE, small] if 24 <= seq < 27 else [FACE])
    first, second = (Looker(alone._there, ahead=4, glance=64) for _ in range(2))
    given = [each for seq in range(died) for each in first.see(seq, every="auto")]
    second.carrier.recall([unpack(pack(each)) for each in given])
    for seq in range(len(given), 60):
        second.see(seq, every="auto")
    assert second.close == [n for n in alone.close if n >= len(given)]


def test_where_motion_decides_one_who_comes_or_goes_has_the_next_frame_looked_at() -> None:
    looker = Looker(lambda seq: [FACE, AWAY] if seq >= 15 else [FACE], ahead=4)
    given = [each for seq in range(20) for each in looker.see(seq, every="auto")]
    first = next(n for n in looker.looks if n >= 15)
    assert looker.looks[looker.looks.index(first) + 1] == first + 1
    assert counts(given)[: first + 1] == [1 if n < 11 else 2 for n in range(first + 1)]


def test_where_motion_decides_a_stir_of_the_picture_and_a_slow_clock_ask_for_a_look() -> None:
    slope = np.repeat(np.arange(0, 144, 8, dtype=np.int16)[:, None], FLAT.shape[1], axis=1)
    stirred = slope.copy()
    stirred[:, : round(FLAT.shape[1] * STIRRED) + 2] += 100
    look = view(sample=slope)
    assert reaches(look, view(1, sample=slope), "auto")
    assert not reaches(look, view(1, sample=stirred), "auto")
    assert reaches(look, view(1, sample=stirred), 3)
    assert not reaches(view(), view(1, time=0.2), "auto")


def test_motion_is_that_of_the_face_that_went_farthest() -> None:
    weak = Face(moved(AWAY, 8).box, 0.4, sighting=Sighting.WEAK)
    before = Look(view(0), [FACE, AWAY])
    assert motion(before, Look(view(2), [moved(FACE, 5), weak])) == Motion(2, 8 / 50)
    assert motion(before, Look(view(2), [FACE])).strange
    assert motion(Look(view(0), []), Look(view(2), [weak])) == Motion(2, 0.0)


def test_a_weak_find_is_not_carried_and_a_carried_face_says_that_it_is() -> None:
    weak = Face(AWAY.box, 0.4, sighting=Sighting.WEAK)
    (face,) = between(Look(view(0), [FACE, weak]), view(1), Look(view(2), [FACE]))
    assert face.sighting is Sighting.CARRIED
    assert view().grown([FACE], view(1))[0].sighting is Sighting.CARRIED


@given(data=st.data(), ahead=st.integers(0, 4))
def test_a_face_that_two_looks_running_see_is_covered_on_every_frame_between(
    data: st.DataObject, ahead: int
) -> None:
    """Whatever is missing, cut, changed or flushed: a token that was carried has the faces of a
    look on either side, both of the same scene and close to it."""
    seen: dict[int, int] = {}  # the scene of each frame
    looker = Looker(lambda seq: [moved(FACE, 1000 * seen[seq])], ahead)
    seq, scene, given = 0, 0, []
    for _ in range(data.draw(st.integers(1, 8))):
        batch = []
        for _ in range(data.draw(st.integers(1, 4))):
            scene += data.draw(st.booleans())
            seen[seq] = scene
            batch.append(seq)
            seq += data.draw(st.sampled_from([1, 1, 1, 2, 7, 40]))
        every = data.draw(st.integers(1, 6) | st.just("auto"))
        values = {n: 40 + 100 * (seen[n] % 2) for n in batch}
        given += looker.see(*batch, every=every, values=values)
        if data.draw(st.integers(0, 4)) == 0:
            given += looker.flush()
    given += looker.flush()
    assert seqs(given) == list(seen)
    for each in given:
        own = moved(FACE, 1000 * seen[each.seq])
        assert any(inside(own, face) for face in each.faces)
        if "detect.carried" in each.fields:
            before = max(n for n in looker.looks if n < each.seq)
            after = min(n for n in looker.looks if n > each.seq)
            assert seen[before] == seen[each.seq] == seen[after] and after - before <= 6
        else:
            assert each.seq in looker.looks


def test_another_input_begins_with_a_look_and_nobody_waits() -> None:
    looker = Looker(always, ahead=3)
    looker.see(0, 1, every=5)
    looker.carrier.forget(ahead=3)
    assert looker.flush() == []
    looker.see(2, every=5)
    assert looker.looks == [0, 2]
