"""The token's bytes: what goes in comes out, and bad bytes are named, never guessed at."""

from __future__ import annotations

import zlib
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow import wire
from mpflow.tokens import Change, Face, FrameState, Mode, Sighting, Stamp, Token
from mpflow.tracking.finds import packed

small = st.integers(-(2**63), 2**63 - 1)
count = st.integers(0, 2**63 - 1)
number = st.floats(allow_nan=False)
text = st.text(max_size=12)
scalar = st.none() | st.booleans() | small | number | text | st.binary(max_size=8)
value: st.SearchStrategy[Any] = st.recursive(
    scalar,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(text, inner, max_size=3),
    max_leaves=5,
)
bag = st.dictionaries(text, value, max_size=3)
names = st.lists(text, max_size=3).map(tuple)
faces = st.builds(
    Face,
    box=st.tuples(number, number, number, number),
    score=number,
    points=st.just(()) | st.tuples(*[st.tuples(number, number)] * 5),
    track=st.none() | count,
    identity=st.none() | text,
    refs=st.dictionaries(text, count, max_size=2),
    pose=st.none() | st.tuples(number, number, number),
    sighting=st.sampled_from(Sighting),
)
tokens = st.builds(
    Token,
    request=text,
    seq=count,
    stream=count,
    pts=st.none() | small,
    time_base=st.tuples(st.integers(1, 2**31), st.integers(1, 2**31)),
    duration=count,
    key=st.booleans(),
    ops=names,
    params=bag,
    state=st.sampled_from(FrameState),
    born=count,
    deadline=st.none() | count,
    ttl=st.none() | count,
    retries=count,
    mode=st.sampled_from(Mode),
    degradations=names,
    faces=st.lists(faces, max_size=3).map(tuple),
    fields=bag,
    stamps=st.lists(st.builds(Stamp, text, count, count, count, count), max_size=2).map(tuple),
    changes=st.lists(st.builds(Change, text, text, text), max_size=2).map(tuple),
)

TOKEN = Token("run", 7, pts=1001, time_base=(1, 30000), ops=("redact",), fields={"a.b": 1.5})


@given(tokens)
def test_every_token_comes_back_equal(token: Token) -> None:
    assert wire.unpack(wire.pack(token, limit=1 << 20)) == token


@given(tokens)
def test_enums_and_faces_come_back_as_their_own_types(token: Token) -> None:
    back = wire.unpack(wire.pack(token, limit=1 << 20))
    assert isinstance(back.state, FrameState)
    assert isinstance(back.mode, Mode)
    assert all(isinstance(face, Face) for face in back.faces)
    assert all(isinstance(face.sighting, Sighting) for face in back.faces)


def test_the_array_has_every_field_in_its_order() -> None:
    assert [each.name for each in fields(Token)] == wire._NAMES
    assert len(wire._to_array(TOKEN)) == len(wire._NAMES)


@given(st.binary(max_size=64))
def test_foreign_bytes_are_named(data: bytes) -> None:
    if data[:3] == wire.MAGIC[: len(data)] and data:
        data = b"x" + data
    with pytest.raises(wire.ForeignBytes):
        wire.unpack(data)


def test_a_future_version_is_named_with_both_versions() -> None:
    data = bytearray(wire.pack(TOKEN))
    data[3] = 9
    with pytest.raises(wire.UnknownVersion) as caught:
        wire.unpack(bytes(data))
    assert caught.value.facts == {"version": 9, "known": wire.VERSION}


@given(st.data())
def test_a_truncated_token_is_named_at_every_length(data: st.DataObject) -> None:
    whole = wire.pack(TOKEN)
    length = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(wire.TruncatedToken) as caught:
        wire.unpack(whole[:length])
    assert caught.value.facts["got"] == length


@given(st.data())
def test_a_flipped_bit_never_passes(data: st.DataObject) -> None:
    whole = bytearray(wire.pack(TOKEN))
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    with pytest.raises(wire.WireError):
        wire.unpack(bytes(whole))


def test_bytes_after_the_end_are_damage() -> None:
    with pytest.raises(wire.DamagedToken):
        wire.unpack(wire.pack(TOKEN) + b"\0")


def test_a_body_that_is_no_token_is_damage() -> None:
    body = b"\x93\x01\x02\x03"
    header = wire._HEADER.pack(wire.MAGIC, wire.VERSION, len(body), zlib.crc32(body))
    with pytest.raises(wire.DamagedToken):
        wire.unpack(header + body)


def test_a_token_that_does_not_fit_says_how_large_it_is() -> None:
    crowd = TOKEN.with_faces([Face((0.0, 0.0, 1.0, 1.0), 0.5)] * 2000)
    with pytest.raises(wire.TokenTooLarge) as caught:
        wire.pack(crowd)
    assert caught.value.facts["seq"] == 7
    assert caught.value.facts["bytes"] > caught.value.facts["limit"] == wire.MAX_BYTES


def test_a_crowd_fits_with_its_tracks_and_what_they_are_repeated_from() -> None:
    points = tuple((1000.1 + at, 500.1) for at in range(5))
    faces = [
        Face((1000.1 + at, 500.1, 1020.2, 530.3), 0.91, points, at, "other", {}, (1.1, 2.2, 3.3))
        for at in range(180)
    ]
    crowd = TOKEN.with_faces(faces).with_field("track.memory", (packed(faces), 180, False, None))
    assert wire.unpack(wire.pack(crowd)).faces == crowd.faces


def test_exactly_the_limit_fits() -> None:
    size = len(wire.pack(TOKEN))
    assert len(wire.pack(TOKEN, limit=size)) == size
    with pytest.raises(wire.TokenTooLarge):
        wire.pack(TOKEN, limit=size - 1)


@pytest.mark.parametrize("bad", [object(), 2**70, {1, 2}])
def test_a_value_that_does_not_travel_is_named(bad: object) -> None:
    with pytest.raises(wire.UnpackableToken, match="frame 7"):
        wire.pack(TOKEN.with_field("some.value", bad))
