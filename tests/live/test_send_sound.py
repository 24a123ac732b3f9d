"""The sound of a live output: made fit, kept in step, and not held up by pictures that are late."""

from __future__ import annotations

from pathlib import Path

import pytest
from catchers import Catch, Catcher, catch, free_port
from sending import RATE, Feed

from mpflow.media.destination import find_destination
from mpflow.media.soundtrack import is_taken


def in_step(caught: Catch) -> list[float]:
    return [min((burst - flash for burst in caught.bursts), key=abs) for flash in caught.flashes]


@pytest.mark.parametrize(
    ("codec", "ending", "becomes"),
    [
        ("libopus", "flv", "aac"),
        ("pcm_s16le", "flv", "aac"),
        ("libmp3lame", "flv", "mp3float"),
        ("pcm_s16le", "ts", "aac"),
        ("libopus", "ts", "opus"),
        ("pcm_s16le", "mkv", "pcm_s16le"),
        ("aac", "mp4", "aac"),
        ("flac", "nut", "flac"),
    ],
)
def test_sound_is_copied_or_made_into_aac_in_step_with_the_pictures(
    codec: str, ending: str, becomes: str, tmp_path: Path
) -> None:
    output = tmp_path / f"out.{ending}"
    feed = Feed(str(output), sound=codec, late=0.1)
    with feed.running():
        feed.send(2.5)
        assert feed.finish().warnings == ()
    caught = catch(str(output), {})
    assert caught.streams["audio"] == becomes
    assert len(caught.pictures) == 75
    assert len(caught.flashes) == 2
    assert in_step(caught) == pytest.approx([0, 0], abs=0.03)


def test_sound_goes_on_while_no_picture_comes() -> None:
    port = free_port()
    url = f"rtmp://127.0.0.1:{port}/live/key"
    feed = Feed(url, sound="aac")
    with Catcher(url, port, listen="1") as catcher, feed.running():
        feed.send(1.5)
        feed.rest(begin=1.5, until=4.5)
        silent = feed.now
        feed.send(1, begin=4.5)
        feed.finish()
        caught = catcher.result()
    before = [each for each in caught.sounds if each["came"] < feed.started + silent]
    gap = [at for at in (each["time"] for each in before) if at > caught.times[44]]
    assert len(gap) > 100  # of 128 a second and a half in 3 s without pictures
    assert caught.times == sorted(caught.times)
    assert in_step(caught) == pytest.approx([0] * len(caught.flashes), abs=0.03)


def test_an_input_that_never_sounds_is_sent_without_sound(tmp_path: Path) -> None:
    output = tmp_path / "out.ts"
    feed = Feed(str(output), sound="aac")
    with feed.running():
        for number in range(50):
            feed._wait(number / RATE)
            feed.picture(number)
        feed.finish()
    assert catch(str(output), {}).streams == {"video": "h264"}
    assert "no sound came" in feed.warnings[0]


def test_sound_that_comes_later_is_told_of_once_and_left_out(tmp_path: Path) -> None:
    output = tmp_path / "out.ts"
    feed = Feed(str(output))
    with feed.running():
        feed.send(0.5)
        feed.change_sound("aac")
        feed.send(1, begin=0.5)
        feed.finish()
    assert catch(str(output), {}).streams == {"video": "h264"}
    assert feed.warnings == ["the input has sound only now: the output goes on without"]


def test_sound_that_comes_later_joins_the_next_connection() -> None:
    port = free_port()
    url = f"rtmp://127.0.0.1:{port}/live/key"
    feed = Feed(url)
    first = Catcher(url, port, listen="1")
    with first, feed.running():
        feed.send(1)
        feed.change_sound("aac")
        feed.send(0.5, begin=1)
        first.kill()
        with Catcher(url, port, listen="1") as second:
            feed.send(4, begin=1.5)
            feed.finish()
            caught = second.result()
    assert caught.streams == {"video": "h264", "audio": "aac"}
    assert feed.warnings == [
        "the input has sound only now: the output gets it with its next connection"
    ]


@pytest.mark.parametrize("codec", ["aac", "pcm_s16le"])
def test_sound_that_outlasts_the_picture_is_sent_to_its_end(codec: str, tmp_path: Path) -> None:
    output = tmp_path / "out.mkv"
    feed = Feed(str(output), sound=codec, late=1.5)
    with feed.running():
        feed.send(3, drop=lambda number: number >= RATE)
        feed.finish()
    caught = catch(str(output), {})
    assert len(caught.pictures) == RATE
    assert caught.sounds[-1]["time"] > 2.8


@pytest.mark.parametrize("sound", ["aac", "libopus"])
def test_sound_can_be_left_out(sound: str, tmp_path: Path) -> None:
    output = tmp_path / "out.ts"
    feed = Feed(str(output), {"audio": False}, sound=sound)
    with feed.running():
        feed.send(0.5)
        feed.finish()
    assert catch(str(output), {}).streams == {"video": "h264"}
    assert feed.warnings == []


@pytest.mark.parametrize("sounds", [("aac", "libmp3lame"), ("libopus", "pcm_s16le")])
def test_another_sound_on_the_way_is_followed(sounds: tuple[str, str]) -> None:
    port = free_port()
    url = f"rtmp://127.0.0.1:{port}/live/key"
    feed = Feed(url, sound=sounds[0])
    first = Catcher(url, port, listen="1")
    with first, feed.running():
        feed.send(1.5)
        feed.change_sound(sounds[1])
        if sounds[0] == "aac":  # copied, so that the stream has to begin anew
            feed.send(1, begin=1.5)
            first.kill()
            first = Catcher(url, port, listen="1")
        with first:
            feed.send(5, begin=feed.now)
            feed.finish()
            caught = first.result()
    assert caught.streams["audio"] == ("mp3float" if sounds[0] == "aac" else "aac")
    assert len(caught.flashes) > 2
    assert in_step(caught) == pytest.approx([0] * len(caught.flashes), abs=0.03)


def test_any_sound_fits_a_container_that_is_asked(tmp_path: Path) -> None:
    import av
    from sending import tones

    with av.open(tones("flac", 6)) as container:
        stream = container.streams.audio[0]
        taken = {name: is_taken(find_destination(f"x.{name}"), stream) for name in ("mkv", "flv")}
    assert taken == {"mkv": True, "flv": False}
