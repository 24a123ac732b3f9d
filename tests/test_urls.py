"""What of a URL is shown, and what is not."""

from __future__ import annotations

import pytest

from mpflow.urls import hide_credentials, is_url


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rtsp://bob:p@ss@cam/1", "rtsp://***@cam/1"),
        ("no 'rtmp://live.example/app/k3y-k3y' there", "no 'rtmp://live.example/app/***' there"),
        ("rtmps://live.example:443/app/k3y?auth=1", "rtmps://live.example:443/app/***"),
        ("rtmp://host/app", "rtmp://host/app"),
        ("rtmp://bob:pw@host/app/key, then", "rtmp://***@host/app/***, then"),
        ("http://h/a?token=t0p&size=3&key=k", "http://h/a?token=***&size=3&key=***"),
        ("rtsp://h/user=bob_password=pw_channel=1", "rtsp://h/user=***_password=***_channel=1"),
        ("https://h/a?password=pw#part", "https://h/a?password=***#part"),
        ("http://host/path?q=a@b", "http://host/path?q=a@b"),
        ("udp://127.0.0.1:5000?pkt_size=1316", "udp://127.0.0.1:5000?pkt_size=1316"),
        ("is_key=True, mean/token=3", "is_key=True, mean/token=3"),
    ],
)
def test_secrets_of_urls_are_left_out_and_nothing_else(text: str, shown: str) -> None:
    assert hide_credentials(text) == shown


@pytest.mark.parametrize(
    ("text", "yes"),
    [("rtsp://h/1", True), ("v4l2:/dev/video0", False), ("a/b.mp4", False), ("-", False)],
)
def test_a_url_has_a_scheme_and_two_slashes(text: str, yes: bool) -> None:
    assert is_url(text) is yes
