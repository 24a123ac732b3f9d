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
    urls = ["rtsp://bob:s3cret@camera/1", "http://host/path?q=a@b", "rtmp://key@host/app"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *urls], capture_output=True, text=True, check=True
    )
    shown = done.stdout.split()[-3:]
    assert shown == ["rtsp://**********@camera/1", urls[1], "rtmp://***@host/app"]
