"""A redaction that covered nobody, or everybody, says so when it was not told to."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mpflow.accounts import LedgerSummary
from mpflow.config import resolve
from mpflow.coverage import cover_warning

ALL, ONLY, EXCEPT = "redact", "redact-only", "redact-except"


def warning(preset: str, **counts: Any) -> str:
    spec = resolve(preset, flags=[("embed.gallery", "photos", "test")] * (preset != ALL)).spec
    return cover_warning(spec, LedgerSummary(**{"frames": 9, "delivered": 9, **counts}))


@pytest.mark.parametrize(
    ("preset", "counts", "says"),
    [
        (ALL, {}, "no face was found in any frame: nothing was covered"),
        (ALL, {"frames": 0}, ""),
        (ALL, {"faces": 3, "covered": 3}, ""),
        (ALL, {"faces": 3, "covered": 1, "open": 2, "left": 8}, ""),
        (ALL, {"faces": 3, "open": 3, "left": 9}, "3 faces .* no frame lies within the spans"),
        (ALL, {"faces": 1, "open": 1, "left": 5}, "1 face was found.* no face was seen within"),
        (ONLY, {"faces": 8, "open": 8}, "none was covered: nobody of the gallery was recognised$"),
        (ONLY, {"faces": 8, "open": 8, "left": 2}, "nobody .* was recognised within the spans"),
        (ONLY, {"faces": 8, "open": 7, "covered": 1}, ""),
        (EXCEPT, {"faces": 8, "open": 8}, "none was covered: nobody but people of the gallery"),
        (EXCEPT, {"faces": 8, "covered": 8}, "nobody of the gallery was recognised: every face"),
        (EXCEPT, {"faces": 8, "covered": 5, "open": 3}, ""),
    ],
)
def test_what_came_of_it_is_held_against_what_was_asked(
    preset: str, counts: dict[str, int], says: str
) -> None:
    told = warning(preset, **counts)
    assert bool(told) == bool(says)
    assert re.search(says, told)


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({"faces": 8, "open": 8}, ""),  # everybody got another face
        ({"faces": 8, "covered": 2, "open": 6}, ""),
        ({"faces": 8, "covered": 8}, "no face was made: every face was covered"),
        ({"faces": 0}, "no face was found in any frame"),
    ],
)
def test_a_swap_that_covers_the_others_is_warned_of_where_it_made_no_face(
    counts: dict[str, int], says: str
) -> None:
    spec = resolve("swap+redact", environ={}).spec
    told = cover_warning(spec, LedgerSummary(frames=9, delivered=9, **counts))
    assert bool(told) == bool(says)
    assert says in told


def test_a_swap_that_covers_nobody_says_only_that_nobody_was_there() -> None:
    spec = resolve("swap").spec
    assert cover_warning(spec, LedgerSummary(frames=9, delivered=9)) == (
        "no face was found in any frame"
    )
    assert not cover_warning(spec, LedgerSummary(frames=9, delivered=9, faces=9))


def test_a_pipeline_that_covers_nothing_is_not_warned_of() -> None:
    spec = resolve("detect-only").spec
    assert not cover_warning(spec, LedgerSummary(frames=9, delivered=9))
