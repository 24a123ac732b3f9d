"""What is let through before a live run is what its stages can work with."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from mpflow.errors import InputError, OutputError
from mpflow.jobs import endpoints
from mpflow.jobs.endpoints import STREAM_FILES, check_input, check_output, is_file
from mpflow.media.address import Address, Wishes
from mpflow.media.destination import Kind, find_destination
from mpflow.protocols import PROTOCOLS, device_of
from mpflow.urls import hide_credentials


def test_the_source_reads_every_kind_of_url_that_is_let_through() -> None:
    for scheme in PROTOCOLS:
        url = f"{scheme}://127.0.0.1:5000/a"
        check_input(url)
        assert Address.of(url, Wishes()).scheme == scheme


def test_the_sink_writes_to_every_kind_of_url_that_is_let_through() -> None:
    for scheme in PROTOCOLS:
        url = f"{scheme}://127.0.0.1:5000/a"
        check_output(url)
        assert find_destination(url).kind is Kind.NETWORK


@pytest.mark.parametrize("ending", sorted(STREAM_FILES))
def test_the_sink_knows_the_container_of_every_ending(ending: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"out{ending}")
    check_output(path)
    assert find_destination(path).kind is Kind.FILE


@pytest.mark.parametrize(
    ("text", "device", "file"),
    [
        ("/dev/video10", "/dev/video10", False),
        ("v4l2:/dev/video0", "/dev/video0", False),
        ("v4l2:/dev/v4l/by-id/cam", "/dev/v4l/by-id/cam", False),
        ("/dev/video", None, True),
        ("video0", None, True),
        ("a/out.ts", None, True),
        ("-", None, False),
        ("udp://127.0.0.1:5000", None, False),
    ],
)
def test_an_end_is_a_device_a_file_or_neither(text: str, device: str | None, file: bool) -> None:
    assert device_of(text) == device
    assert is_file(text) is file
    if device is not None:
        assert find_destination(text).kind is Kind.DEVICE


def test_a_node_that_is_a_video_device_is_let_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a machine without a camera has character devices of another kind only
    monkeypatch.setattr(endpoints, "VIDEO_MAJOR", os.major(Path("/dev/null").stat().st_rdev))
    check_input("v4l2:/dev/null")
    check_output("v4l2:/dev/null")


def test_a_device_is_no_folder_and_no_plain_file(tmp_path: Path) -> None:
    plain = tmp_path / "video0"
    plain.touch()
    for path in (plain, tmp_path):
        with pytest.raises(InputError, match="no video device"):
            check_input(f"v4l2:{path}")
        with pytest.raises(OutputError, match="no video device"):
            check_output(f"v4l2:{path}")


def test_who_listens_needs_no_host(tmp_path: Path) -> None:
    check_input("tcp://:5000", listens=True)
    with pytest.raises(InputError, match="names no host"):
        check_input("tcp://:5000")


def test_a_named_format_needs_no_ending(tmp_path: Path) -> None:
    check_output(str(tmp_path / "out"), named_format=True)
    with pytest.raises(OutputError, match="which container"):
        check_output(str(tmp_path / "out"))


@pytest.mark.parametrize("check", [check_input, check_output])
@pytest.mark.parametrize(
    "text",
    [
        "rtsp://admin:s3/cret@cam/1",
        "rtsp://admin:s3#cret@cam/1",
        "rtsp://admin:s3?cret@cam/1",
        "rtsp://[s3cret@cam/1",
        "rtsp://s3cret\u2100@cam/1",
        "tcp://admin:s3cret@cam",
        "rtsp://admin:s3cret@",
        "rtps://admin:s3 cret@cam/1",
        "rtsp//admin:s3 cret@cam/1",
        "rtmp:/host/app/s3cret",
    ],
)
def test_an_address_that_is_none_is_refused_without_a_word_of_its_password(
    check: Callable[[str], None], text: str
) -> None:
    with pytest.raises((InputError, OutputError)) as caught:
        check(text)
    told = "".join(traceback.format_exception(caught.value))
    for part in ("s3", "cret", "admin"):
        assert part not in hide_credentials(told), told
