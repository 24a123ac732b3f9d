"""How large the ring gets: what helps, within what may be used, also when others take it first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mpflow import provision
from mpflow.errors import ResourceError
from mpflow.graph import MIB, Demand, comfortable_slots, minimum_slots
from mpflow.provision import Budget, make_ring, shortage
from mpflow.shm import Geometry, NoSpace, Segment
from mpflow.spec import PipelineSpec, StageSpec, VideoInfo

STAGES = tuple(StageSpec(name, "x:Y") for name in ("decode", "detect", "redact", "encode"))
DEMANDS = (Demand(), Demand(max_batch=8), Demand(changes_pixels=True), Demand(holds=3))
FULL_HD = VideoInfo(0, "h264", 1920, 1080, "yuv420p", "yuv420p", (1, 25))


def spec(**values: int) -> PipelineSpec:
    return PipelineSpec("p", STAGES, **values)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Geometry]]:
    """A machine with so many MiB; returns the list of rings that are asked for."""

    def make(*, shm: list[int] | int, memory: int = 100_000, refuses: int = 0) -> list[Geometry]:
        asked: list[Geometry] = []
        free = list(shm) if isinstance(shm, list) else [shm]

        def create(geometry: Geometry) -> Geometry:
            asked.append(geometry)
            if len(asked) <= refuses:
                raise NoSpace(needed=geometry.total_bytes, available=0)
            return geometry

        monkeypatch.setattr(
            provision,
            "shared_memory_free",
            lambda: (free.pop(0) if len(free) > 1 else free[0]) * MIB,
        )
        monkeypatch.setattr(provision, "memory_available", lambda: memory * MIB)
        monkeypatch.setattr(provision, "sweep", lambda: None)
        monkeypatch.setattr(Segment, "create", create)
        return asked

    return make


def test_a_ring_has_as_many_slots_as_help(machine) -> None:
    asked = machine(shm=10_000)
    make_ring(spec(), FULL_HD, DEMANDS)
    assert [geometry.slots for geometry in asked] == [comfortable_slots(DEMANDS)]


def test_only_who_changes_pixels_has_a_journal(machine) -> None:
    asked = machine(shm=10_000)
    make_ring(spec(), FULL_HD, DEMANDS)
    make_ring(spec(), FULL_HD, [Demand()] * 4)
    rooms = [[geometry.journal_room(worker) > 0 for worker in range(4)] for geometry in asked]
    assert rooms == [[False, False, True, False], [False] * 4]


@pytest.mark.parametrize(
    ("limits", "cure"),
    [
        ({"shm": 100}, "enlarge /dev/shm"),
        ({"memory": 180}, "free memory, or raise the limit"),
        ({"asked": 90}, "raise --memory"),
    ],
    ids=["shared memory", "memory of machine and cgroup", "--memory"],
)
def test_whatever_is_least_bounds_the_ring(machine, limits: dict[str, int], cure: str) -> None:
    asked = machine(shm=limits.get("shm", 10_000), memory=limits.get("memory", 100_000))
    wanted = spec(memory=limits.get("asked", 0))
    make_ring(wanted, FULL_HD, DEMANDS)
    (geometry,) = asked
    assert geometry.total_bytes <= 90 * MIB
    assert minimum_slots(DEMANDS) < geometry.slots < comfortable_slots(DEMANDS)
    assert cure in Budget.now(wanted).cure


def test_an_asked_for_memory_never_exceeds_what_the_cgroup_has_left(machine) -> None:
    asked = machine(shm=10_000, memory=80)
    make_ring(spec(memory=5000), FULL_HD, DEMANDS)
    assert asked[0].total_bytes <= 72 * MIB


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"shm": 2}, r"needs \d+ MiB of shared memory, 2 MiB may.*enlarge /dev/shm"),
        ({"shm": 10_000, "memory": 20}, r"10 MiB may be used.*free memory"),
        ({"shm": 0}, r"0 MiB may"),
    ],
)
def test_too_little_for_the_smallest_ring_ends_with_the_figures_and_the_cure(
    machine, limits: dict[str, int], words: str
) -> None:
    asked = machine(**limits)
    with pytest.raises(ResourceError, match=words) as caught:
        make_ring(spec(), FULL_HD, DEMANDS)
    assert caught.value.exit_status == 6
    assert asked == []


def test_another_program_that_fills_it_first_leaves_a_smaller_ring(machine) -> None:
    asked = machine(shm=[10_000, 100], refuses=1)
    make_ring(spec(), FULL_HD, DEMANDS)
    before, after = asked
    assert before.slots > after.slots > minimum_slots(DEMANDS)
    assert after.total_bytes <= 90 * MIB


def test_another_program_that_is_always_faster_ends_the_run_with_the_cure(machine) -> None:
    asked = machine(shm=10_000, refuses=99)
    with pytest.raises(ResourceError, match=r"shared memory is full.*enlarge /dev/shm"):
        make_ring(spec(), FULL_HD, DEMANDS)
    assert len(asked) == 3


def test_pictures_larger_than_any_ring_are_refused(machine) -> None:
    machine(shm=10_000)
    huge = VideoInfo(0, "x", 1 << 24, 1 << 24, "yuv420p", "yuv420p", (1, 25))
    with pytest.raises(ResourceError, match="16777216x16777216 are too large"):
        make_ring(spec(), huge, DEMANDS)


@pytest.mark.parametrize(
    ("slots", "text"),
    [
        (32, ""),
        (15, ""),
        (
            14,
            "the frame ring has 14 slots where 32 would help,"
            " and batches are cut from 8 to 7 frames: it may run slower",
        ),
        (9, "batches are cut from 8 to 2 frames"),
        (4, "batches are cut from 8 to 1 frames"),
    ],
)
def test_a_shortage_that_costs_batches_is_told_in_one_sentence(slots: int, text: str) -> None:
    told = shortage(spec(), DEMANDS, slots)
    assert text in told
    assert bool(told) == bool(text)


def test_a_ring_with_less_than_a_frame_for_everybody_is_told_too() -> None:
    singles = (Demand(), Demand(), Demand(), Demand(holds=2))
    assert shortage(spec(), singles, 7) == ""
    assert shortage(spec(), singles, 6) == (
        "the frame ring has 6 slots where 17 would help: it may run slower"
    )


def test_a_shortage_that_costs_look_ahead_says_whose_and_what_follows_each_once() -> None:
    stages = tuple(
        StageSpec(name, "x:Y", workers=2 if name == "look" else 1)
        for name in ("decode", "look", "track", "encode")
    )
    looks = Demand(holds=3, max_batch=4, least_holds=0)
    track = Demand(holds=10, least_holds=0, less_ahead="less is covered")
    demands = (Demand(), looks, looks, track, Demand(holds=2))
    told = shortage(PipelineSpec("p", stages), demands, 8)
    assert told == (
        "the frame ring has 8 slots where 47 would help, and batches are cut from 4 to 1 frames:"
        " it may run slower; look keeps 1 frames back instead of 3;"
        " track keeps 1 frames back instead of 10: less is covered"
    )
    assert "keeps" not in shortage(PipelineSpec("p", stages), demands, 19)


def test_a_ring_too_small_for_all_look_ahead_is_made_all_the_same(machine) -> None:
    asked = machine(shm=10_000)
    far = (Demand(), Demand(holds=40, least_holds=0), Demand(), Demand(holds=3))
    make_ring(spec(memory=40), FULL_HD, far)
    assert minimum_slots(far) <= asked[0].slots < 40
