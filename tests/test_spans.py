"""Spans of time: read as people type them, held against an input, asked for each frame."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mpflow.errors import ConfigError
from mpflow.spans import Spans

FPS = 10


def frames_of(text: str, frames: int = 100) -> list[int]:
    """Which frames of a video of ten a second are within."""
    spans = Spans.parse(text)
    return [n for n in range(frames) if spans.hold(n, Fraction(n, FPS), Fraction(n + 1, FPS))]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("0:01-0:02", 10, 19),
        ("1-2", 10, 19),
        ("1.5-2", 15, 19),
        (".5-00:00:1", 5, 9),
        ("0:01.05-0:01.15", 10, 11),  # on show at some moment of it
        ("9-", 90, 99),
        ("-0:01", 0, 9),
        ("f20-f29", 20, 29),
        ("F20-f20", 20, 20),
        ("f95-", 95, 99),
        ("-f4", 0, 4),
        (" 0:01 - 0:02 ", 10, 19),
    ],
)
def test_a_span_holds_the_frames_that_are_on_show_in_it(text: str, first: int, last: int) -> None:
    assert frames_of(text) == list(range(first, last + 1))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("00:00:01,500-00:00:02,000", "1.5-2"),
        ("00:00:01,500-", "1.5-"),
        ("00:00:01,500-00:00:02,000,0:08-", "1.5-2,8-"),
        ("00:00:01-00:00:02,100-", "1-2,100-"),  # a span of its own
    ],
)
def test_a_subtitles_comma_is_one_where_nothing_else_can_be_meant(text: str, plain: str) -> None:
    assert frames_of(text) == frames_of(plain)


@pytest.mark.parametrize("text", ["00:00:01:00-00:00:02:00", "0:00:01;12-"])
def test_a_time_code_is_refused_for_what_it_is(text: str) -> None:
    with pytest.raises(ConfigError, match="is a time code") as caught:
        Spans.parse(text)
    assert "0:00:01.5" in caught.value.cure


@pytest.mark.parametrize(
    ("text", "start", "stop", "meets"),
    [
        ("f60-", 0, 30, False),
        ("f30-", 0, 31, True),
        ("f60-f70", 70, None, True),
        ("-f69", 70, None, False),
        ("0:05-0:10", 900, 1800, False),
        ("0:05-0:10", 50, 60, True),
        ("0:05-0:06", 62, 70, True),  # by the average rate it is near enough
        ("1:00-", 0, None, True),
        ("f60-,0:01-0:02", 0, 30, True),
        ("", 0, 30, True),
    ],
)
def test_spans_that_meet_no_frame_that_is_wanted_are_refused(
    text: str, start: int, stop: int | None, meets: bool
) -> None:
    spans = Spans.parse(text)
    if meets:
        spans.check_range(start, stop, Fraction(FPS))
        return
    with pytest.raises(ConfigError, match="nothing would be covered"):
        spans.check_range(start, stop, Fraction(FPS))


def test_without_a_rate_times_are_not_judged() -> None:
    Spans.parse("0:05-0:10").check_range(900, 1800, None)


def test_several_spans_hold_what_any_of_them_holds() -> None:
    assert frames_of("0:01-0:01.2,f5-f6,9.9-") == [5, 6, 10, 11, 99]


def test_no_spans_hold_everything() -> None:
    assert frames_of("") == list(range(100))


@pytest.mark.parametrize(
    ("text", "moment"), [("1:00:00-", 3600), ("90:00-", 5400), ("0:0:90.25-", None), ("75-", 75)]
)
def test_hours_minutes_and_seconds_are_told_apart(text: str, moment: int | None) -> None:
    if moment is None:
        with pytest.raises(ConfigError, match="neither a time nor a frame"):
            Spans.parse(text)
        return
    assert not Spans.parse(text).hold(0, Fraction(moment) - 1, Fraction(moment))
    assert Spans.parse(text).hold(0, Fraction(moment), Fraction(moment) + 1)


def test_a_frame_whose_time_is_not_known_is_within() -> None:
    assert Spans.parse("5-6").hold(0, None, None)
    assert not Spans.parse("f5-f6").hold(0, None, None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0:05", "'0:05' is no span"),
        ("-", "'-' is no span"),
        ("1-2,", "'' is no span"),
        ("0:10-0:05", "ends before it begins"),
        ("f9-f3", "ends before it begins"),
        ("5-5", "is empty"),
        ("f3-0:05", "from a time to a frame"),
        ("one-two", "'one' in the span 'one-two'"),
        ("1:75-2:00", "'1:75'"),
        ("1e3-", "'1e3'"),
        ("1-2-3", "'2-3'"),
        ("٣-", "neither"),
    ],
)
def test_what_is_no_span_is_named(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Spans.parse(text)
    assert says in caught.value.what
    assert caught.value.cure


@pytest.mark.parametrize(
    ("text", "frames", "seconds"),
    [
        ("0:00-0:10", 100, 10.0),
        ("0:00-0:11", 100, 10.0),  # rounded up
        ("f0-f99", 100, 10.0),
        ("f5-f900", None, 10.0),
        ("1:00-2:00", 100, None),
        ("0:09.9-", 100, 10.0),
    ],
)
def test_spans_within_a_video_are_taken(
    text: str, frames: int | None, seconds: float | None
) -> None:
    Spans.parse(text).check("in.mp4", frames, seconds)


@pytest.mark.parametrize(
    ("text", "says", "cure"),
    [
        ("0:10-0:20", "'in.mp4' has 10.00 s of picture; the span 0:10-0:20", "times that it has"),
        ("0:05-0:12", "the span 0:05-0:12 is not within it", "0:05- means to the end"),
        ("1-2,10-", "the span 10- is not within it", "times"),
        ("f100-f120", "has 100 frames, f0-f99; the span f100-f120", "frames that it has"),
        ("f90-f100", "the span f90-f100 is not", "f90- means to the end"),
    ],
)
def test_a_span_outside_of_the_video_is_named(text: str, says: str, cure: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Spans.parse(text).check("in.mp4", 100, 10.0)
    assert says in caught.value.what
    assert cure in caught.value.cure
