"""Credentials in a URL do not stay in the process title."""

import subprocess
import sys

PROGRAM = """
import sys
from pathlib import Path
from mpflow.console.title import hide_credentials_in_title
before = list(sys.argv)
hide_credentials_in_title()
assert sys.argv == before
print(Path("/proc/self/cmdline").read_text().replace("\\0", " "))
"""


def test_credentials_are_starred_in_the_command_line_others_see() -> None:
    urls = ["rtsp://bob:s3cret@camera/1", "http://host/path?timeout=1", "rtmp://key@host/app/k3y"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *urls], capture_output=True, text=True, check=True
    )
    shown = done.stdout.split()[-3:]
    assert shown == ["rtsp://**********@camera/1", urls[1], "rtmp://***@host/app/***"]


def test_a_word_of_the_command_line_is_one_address_whatever_signs_it_has() -> None:
    urls = ["-irtsp://bob:s3 cr\u00e0t@camera/1", "--output=rtmp://host/k3y k3y", "last"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *urls], capture_output=True, text=True, check=True
    )
    shown = done.stdout.split()[-3:]
    # a star for each byte
    assert shown == ["-irtsp://************@camera/1", "--output=rtmp://host/*******", "last"]
