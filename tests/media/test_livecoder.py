"""Coding for a stream that is watched while it is made."""

from __future__ import annotations

import io
from fractions import Fraction

import av
import numpy as np
import pytest

from mpflow.errors import ConfigError
from mpflow.media.destination import Destination, find_destination
from mpflow.media.encoder import Settings, find_encoder
from mpflow.media.livecoder import LiveRecipe, LiveSettings
from mpflow.spec import VideoInfo

RATE = 30


def video(
    size: tuple[int, int] = (320, 240), pixels: str = "yuv420p", range_: int = 0
) -> VideoInfo:
    return VideoInfo(0, "h264", *size, pixels, pixels, (1, 1000), (RATE, 1), range=range_)


def recipe(
    destination: str = "x.mkv",
    said: list[str] | None = None,
    info: VideoInfo | None = None,
    gop: float = 2.0,
    bitrate: str = "",
    **settings: object,
) -> LiveRecipe:
    asked = Settings(**{"threads": 2, **settings})
    say = said.append if said is not None else print
    where = find_destination(destination)
    return LiveRecipe(info or video(), LiveSettings(asked, bitrate, gop), where, say)


def coded(made: LiveRecipe, count: int = 60) -> list[list[tuple[int, int, bool]]]:
    """Packets (pts, bytes, key) that come out with each picture of noise."""
    shape = made.shape
    container = av.open(io.BytesIO(), "w", format=made.recipe.container)
    coder = made.add_to(container)
    out = []
    rng = np.random.default_rng(1)
    for number in range(count):
        picture = av.VideoFrame(shape.width, shape.height, shape.pixel_format)
        for plane in picture.planes:
            plane.update(rng.integers(0, 255, plane.buffer_size, np.uint8).tobytes())
        picture.pts = number * 1000 // RATE
        picture.time_base = Fraction(1, 1000)
        out.append([(p.pts or 0, p.size, bool(p.is_keyframe)) for p in coder.encode(picture)])
    return out


@pytest.mark.parametrize(
    "codec", ["libx264", "libx265", "libvpx", "libvpx-vp9", "libsvtav1", "mpeg4", "mjpeg"]
)
def test_each_picture_is_coded_at_once(codec: str) -> None:
    pixels = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    packets = coded(recipe(codec=codec, info=video(pixels=pixels)), 12)
    assert [[pts for pts, _, _ in each] for each in packets] == [
        [number * 1000 // RATE] for number in range(12)
    ]


def test_key_frames_come_as_often_as_asked() -> None:
    packets = coded(recipe(gop=0.5))
    assert [n for n, each in enumerate(packets) if each[0][2]] == [0, 15, 30, 45]


def test_a_bitrate_is_the_most_there_is_within_a_second() -> None:
    free, bound = recipe(), recipe(bitrate="800k")
    sizes = [
        sum(size for each in coded(made)[RATE:] for _, size, _ in each) for made in (free, bound)
    ]
    assert sizes[0] > 3 * sizes[1]
    assert sizes[1] * 8 < 1_000_000


@pytest.mark.parametrize("pixels", ["yuv422p", "yuv420p10le", "yuv444p", "nv12", "gray"])
def test_others_get_pixels_that_every_player_takes(pixels: str) -> None:
    live, kept = (
        recipe("rtmp://h/live/x", info=video(pixels=pixels)),
        recipe(info=video(pixels=pixels)),
    )
    assert live.shape.pixel_format == "yuv420p"
    assert kept.shape.pixel_format == pixels


def test_a_camera_gets_raw_pictures_of_even_size() -> None:
    made = recipe("/dev/video7", info=video((65, 49), "yuv422p"))
    assert (made.recipe.codec.name, made.shape.pixel_format) == ("rawvideo", "yuv420p")
    assert (made.shape.width, made.shape.height) == (66, 50)


def test_odd_sides_are_padded_for_an_encoder_that_takes_none() -> None:
    said: list[str] = []
    made = recipe("rtmp://h/live/x", said, video((65, 49)))
    assert (made.shape.width, made.shape.height) == (66, 50)
    assert "padded" in said[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"codec": "libvpx"}, "flv cannot hold"),
        ({"crf": 99.0}, "has no crf 99"),
        ({"options": {"nonsense": "1"}}, "no option 'nonsense'"),
        ({"preset": "warp"}, "does not accept preset=warp"),
    ],
)
def test_what_an_encoder_cannot_do_is_named(settings: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        recipe("rtmp://h/live/x", **settings)


@pytest.mark.parametrize(
    ("text", "container", "kind"),
    [
        ("rtmps://h/a/k", "flv", "NETWORK"),
        ("rtsp://h/a", "rtsp", "NETWORK"),
        ("UDP://h:1", "mpegts", "NETWORK"),
        ("-", "nut", "STDOUT"),
        ("v4l2:/dev/loop", "video4linux2", "DEVICE"),
        ("/dev/video3", "video4linux2", "DEVICE"),
        ("a/b.TS", "mpegts", "FILE"),
        ("b.mkv", "matroska", "FILE"),
    ],
)
def test_an_address_tells_what_is_written_there(text: str, container: str, kind: str) -> None:
    found = find_destination(text)
    assert (found.container, found.kind.name) == (container, kind)


def test_a_container_can_be_named_where_the_address_does_not_tell() -> None:
    assert find_destination("tcp://h:1", "matroska").container == "matroska"
    assert find_destination("out", "ts").container == "mpegts"


def test_secrets_of_an_address_are_not_shown() -> None:
    found: Destination = find_destination("rtmp://user:word@h/live/key")
    assert "word" not in found.shown and "key" not in found.shown


def test_every_container_is_asked_what_it_holds() -> None:
    assert find_destination("x.ts").holds(find_encoder("libx264").name)
    assert not find_destination("x.flv").holds("ffv1")
