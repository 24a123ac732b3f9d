"""What of a URL is shown, and what is not."""

from __future__ import annotations

import pytest

from mpflow.urls import hide_credentials, is_url, shown

SHOWN = [
    # who may come in
    ("rtsp://bob:p@ss@cam/1", "rtsp://***@cam/1"),
    ("rtsp://admin:se#cr3t@cam/1", "rtsp://***@cam/1"),
    ("rtsp://admin:se?cr3t@cam/1", "rtsp://***@cam/1"),
    ("rtsp://admin:se/cr3t@cam/1", "rtsp://***@cam/1"),
    ("rtsp://admin:1234/cr3t@cam:554/1", "rtsp://***@cam:554/1"),
    ("rtsp://admin:it's@cam/1", "rtsp://***@cam/1"),
    ("rtsp:/bob:pw@cam/1", "rtsp:/***@cam/1"),
    ("rtsp//bob:pw@cam/1", "rtsp//***@cam/1"),
    ("cache:http://bob:pw@h/1", "cache:http://***@h/1"),
    ("udp://@239.0.0.1:1234", "udp://@239.0.0.1:1234"),
    ("http://host/path?q=a@b", "http://***@b"),  # a password may look like this
    # stream keys
    ("rtmp://h/k3y", "rtmp://h/***"),
    ("rtmp://h/k3y/", "rtmp://h/***"),
    ("rtmp://h/app/k3y", "rtmp://h/app/***"),
    ("rtmp://h//live/k3y", "rtmp://h//live/***"),
    ("rtmp://h/app//k3y", "rtmp://h/app//***"),
    ("rtmp://h/app/k3y'2", "rtmp://h/app/***"),
    ("rtmp://h/app?vhost=x/k3y", "rtmp://h/***"),
    ("rtmp://h/k3y?x/y", "rtmp://h/***"),
    ("rtmp://h?k3y", "rtmp://h?***"),
    ("RTMPS://live.example:443/app/k3y?auth=1", "RTMPS://live.example:443/app/***"),
    ("rtmp://bob:pw@host/app/k3y", "rtmp://***@host/app/***"),
    ("rtmp://host", "rtmp://host"),
    ("rtmp://host/", "rtmp://host/"),
    # parameters: all values but those that are known to tell nothing
    ("http://h/a?token=t0p&size=3&key=k", "http://h/a?token=***&size=***&key=***"),
    (
        "http://h/a?txSecret=s&X-Amz-Signature=s&jwt=s",
        "http://h/a?txSecret=***&X-Amz-Signature=***&jwt=***",
    ),
    ("http://h/a?access-token=s;hdnts=exp=1~hmac=s", "http://h/a?access-token=***;hdnts=***"),
    ("https://h/a?password=pw#part", "https://h/a?password=***"),
    ("https://h/a#access_token=s", "https://h/a#access_token=***"),
    ("https://h/a?s3cr3t", "https://h/a?***"),
    ("https://h/a?c2VjcmV0==", "https://h/a?***"),
    ("https://h/a?channel=1_password=pw", "https://h/a?channel=***"),
    ("rtsp://h/user=bob_password=pw_channel=1", "rtsp://h/user=***"),
    ("rtsp://h/channel=1_user=bob?x", "rtsp://h/channel=1_user=***?***"),
    (
        "rtsp://h/cam/realmonitor?channel=1&subtype=0",
        "rtsp://h/cam/realmonitor?channel=1&subtype=0",
    ),
    ("udp://127.0.0.1:5000?pkt_size=1316&localaddr=10.0.0.1", None),
    ("tcp://:5000?listen", None),
    ("tcp://0.0.0.0:5000?listen=1&timeout=5", None),
    ("srt://h:9?streamid=s&passphrase=s", "srt://h:9?streamid=***&passphrase=***"),
    # nothing of the kind
    ("is_key=True, mean/token=3", None),
    ("a/b@c=d.mp4", None),
    ("-", None),
]


@pytest.mark.parametrize(("text", "expected"), SHOWN)
def test_of_an_address_nothing_is_shown_that_lets_somebody_in(
    text: str, expected: str | None
) -> None:
    assert shown(text) == (expected or text)


@pytest.mark.parametrize(("text", "expected"), SHOWN)
def test_the_same_holds_for_an_address_within_a_text(text: str, expected: str | None) -> None:
    for before, after in [("no ", " there"), ("", ", then"), ("(", ")"), ("'", "' is away")]:
        assert hide_credentials(f"{before}{text}{after}") == f"{before}{expected or text}{after}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rtsp://admin:se cr3t@cam/1", "rtsp://***@cam/1"),
        ("rtsp://admin:se\ncr3t@cam/1", "rtsp://***@cam/1"),
        ("rtmp://h/app playpath=k3y", "rtmp://h/***"),
        ("rtmp://h/app/k3y live=1", "rtmp://h/app/***"),
        ("http://h/a?token=se cr3t", "http://h/a?token=***"),
        ("-irtsp://admin:se cr3t@cam/1", "-irtsp://***@cam/1"),
        ("--output=rtmp://h/app/k3y", "--output=rtmp://h/app/***"),
        ("-ortmp://h/app/k3y", "-ortmp://h/app/***"),
        ("http://h/ rtmp://h/app/k3y", "http://h/ rtmp://h/app/***"),
    ],
)
def test_an_address_may_have_spaces_where_it_is_known_to_be_one(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'rtsp://admin:se cr3t@cam/1' is lost", "'rtsp://***@cam/1' is lost"),
        ("no 'http://h/?a=se cr3t' and 'b=c'", "no 'http://h/?a=***' and 'b=c'"),
        ('"rtsp://bob:it\'s it@cam/1"', '"rtsp://***@cam/1"'),
        (r"'rtsp://bob:it\'s it@cam/1'.", "'rtsp://***@cam/1'."),
        ('{"input":"rtsp://h/1","of":"a@b"}', '{"input":"rtsp://h/1","of":"a@b"}'),
        ('{"input": "rtmp://h/app/k3y"}', '{"input": "rtmp://h/app/***"}'),
        ("<rtmp://h/app/k3y>", "<rtmp://h/app/***>"),
        ("http://proxy/rtmp://h/app/k3y", "http://proxy/rtmp://h/app/***"),
        ("rtmp://k3y@host/app and http://u:p@h/", "rtmp://***@host/*** and http://***@h/"),
        ("plain a@b.c and http://host/a", "plain a@b.c and http://host/a"),
    ],
)
def test_within_a_text_an_address_ends_with_its_quotes_or_word(text: str, expected: str) -> None:
    assert hide_credentials(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in SHOWN])
def test_what_was_hidden_stays_as_it_is(text: str) -> None:
    once = shown(text)
    assert shown(once) == hide_credentials(once) == once


def test_a_long_text_without_an_address_is_read_once() -> None:
    text = "a" * 200_000
    assert hide_credentials(text) == text


@pytest.mark.parametrize(
    ("text", "yes"),
    [("rtsp://h/1", True), ("v4l2:/dev/video0", False), ("a/b.mp4", False), ("-", False)],
)
def test_a_url_has_a_scheme_and_two_slashes(text: str, yes: bool) -> None:
    assert is_url(text) is yes
