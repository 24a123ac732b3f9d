"""What of a URL lets somebody in appears nowhere: not on a screen, in JSON, a log, a report, a
timeline, an alert or the title of a process."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

import pytest
from commands import LIMIT_S, command_line

from mpflow.requests import MAX_ANSWER, Hello, Request, Set, Stats, pack

URL = "http://bob:p@ss@127.0.0.1:9/film.mp4"
WORDS = ("bob", "p@ss", "ss@")


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--json"],
        ["--dry-run"],
        ["--dry-run", "--json"],
        ["--log-level", "debug"],
        ["--offline", "--json"],
        ["-o", "../no/such/folder/out.mp4"],
    ],
    ids=" ".join,
)
def test_credentials_are_shown_nowhere(mpflow, here: Path, more: list[str]) -> None:
    done = mpflow("run", "-i", URL, "-o", "out.mp4", "--log-file", "run.log", *more)
    log = here / "run.log"
    told = done.out + done.err + (log.read_text() if log.exists() else "")
    assert told.strip()
    for word in WORDS:
        assert word not in told, told


SECRET = "s3cr3t"
INPUTS = (
    f"rtsp://{SECRET}:{SECRET}@127.0.0.1:9/1",
    f"rtsp://{SECRET}:x {SECRET}@127.0.0.1:9/1",
    f"rtsp://bob:x#{SECRET}@127.0.0.1:9/1",
    f"rtsp://bob:x/{SECRET}@127.0.0.1:9/1",
    f"http://127.0.0.1:9/a.flv?txSecret={SECRET}&X-Amz-Signature={SECRET}&jwt={SECRET}",
    f"http://127.0.0.1:9/a?{SECRET}",
    f"rtmp://127.0.0.1:9/{SECRET}",
    f"rtmp://127.0.0.1:9//live/x'{SECRET}",
    f"rtsp//bob:{SECRET}@cam/1",
    f"srt://127.0.0.1:9?passphrase={SECRET}",
    f"rtps://bob:{SECRET}@cam/1",
)


@pytest.mark.parametrize("address", INPUTS)
def test_what_cannot_be_read_is_told_without_what_lets_somebody_in(
    mpflow, here: Path, address: str
) -> None:
    done = mpflow(
        *("live", "-i", address, "-o", "out.ts", "--preset", "live-passthrough", "--json"),
        *("--log-level", "debug", "--log-file", "run.log", "--report", "run.json"),
    )
    assert done.code in (2, 3), done
    kept = [path.read_text() for path in here.iterdir() if path.name.startswith("run.")]
    for told in (done.out, done.err, *kept):
        assert SECRET not in told, told
    assert "mpflow: error: " in done.err


OUTPUTS = (
    f"rtmp://127.0.0.1:9/{SECRET}",
    f"rtmp://{SECRET}:x {SECRET}@127.0.0.1:9/app/{SECRET}",
    f"tcp://127.0.0.1:9?token={SECRET}",
)


@pytest.mark.parametrize("address", OUTPUTS)
def test_an_output_that_is_not_there_is_told_without_what_lets_somebody_in(
    here: Path, short_clip: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = here / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    port = _free_port()
    keeper = here / "keep.py"
    keeper.write_text("import sys; open('run.alerts', 'a').write(sys.stdin.read())")
    command = command_line(
        *("live", "-i", str(short_clip), "--loop", "--preset", "live-passthrough", "-o", address),
        *("--retry", "3", "--json", "--log-level", "debug", "--log-file", "run.log"),
        *("--report", "run.json", "--trace", "run.trace.json", "--tokens", "run.jsonl"),
        *("--on-alert", f"{sys.executable} {keeper}", "--metrics", f"127.0.0.1:{port}"),
    )
    process = subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    heard = b"".join(iter(lambda: _until_progress(process.stdout), b""))
    titles = [_title(pid) for pid in _family(process.pid)]
    served = [_fetched(port, page) for page in ("metrics", "health")]
    asked = [_asked(runtime, request) for request in (Hello(), Stats(), Set("send.retry", "x"))]
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2, err
    files = [path for path in here.iterdir() if path.name.startswith("run.")]
    assert {path.name for path in files} >= {"run.log", "run.json", "run.alerts", "run.jsonl"}
    assert len(titles) > 1
    assert b"mpflow_run_info" in served[0]
    for told in (heard, out, err, *titles, *served, *asked, *(path.read_bytes() for path in files)):
        assert SECRET.encode() not in told, told


def _until_progress(lines: IO[bytes]) -> bytes:
    """The next line; nothing once the run is under way."""
    line = lines.readline()
    return b"" if b'"progress"' in line else line


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _fetched(port: int, page: str) -> bytes:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=LIMIT_S) as answer:
            body: bytes = answer.read()
    except urllib.error.HTTPError as error:  # 503: the run is not well, as it should say
        body = error.read()
    return body


def _asked(runtime: Path, request: Request) -> bytes:
    """What a run says to a request, as it comes over the socket."""
    (place,) = (runtime / "mpflow").iterdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        one.settimeout(LIMIT_S)
        one.connect(str(place))
        one.send(pack(request))
        return one.recv(MAX_ANSWER)


def _family(pid: int) -> list[int]:
    """A process and all that it has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _family(int(child)))]


def _title(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
