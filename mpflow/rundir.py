"""Where the control sockets of running pipelines are: one file a run, for its owner only.

    $XDG_RUNTIME_DIR/mpflow/RUN.sock      where there is such a folder (a login session)
    /tmp/mpflow-UID/RUN.sock              elsewhere

A run is reached from other sessions of the same user, a cron job or a second login say, so whoever
looks for runs looks into every place there may be.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mpflow.errors import OutputError

SUFFIX = ".sock"

_PRIVATE = 0o700


def own_folder() -> Path:
    """The folder for a new run's socket, made if need be.

    Raises OutputError when it cannot be made, or is somebody else's.
    """
    folder = _places()[0]
    try:
        folder.mkdir(mode=_PRIVATE, exist_ok=True)
        if _is_ours(folder):
            folder.chmod(_PRIVATE)
            return folder
    except OSError as error:
        raise OutputError(
            f"no folder for the run's control socket: {error}",
            cure="set XDG_RUNTIME_DIR to a folder of your own",
        ) from error
    raise OutputError(
        f"{folder} belongs to somebody else",
        cure="set XDG_RUNTIME_DIR to a folder of your own",
    )


def folders() -> list[Path]:
    """Every folder that may hold sockets of this user's runs; others' are passed over."""
    return [folder for folder in dict.fromkeys(_places()) if _is_ours(folder)]


def sockets() -> list[Path]:
    """The socket files of all runs of this user, those of dead ones included."""
    found = []
    for folder in folders():
        with os.scandir(folder) as entries:
            found += [Path(e.path) for e in entries if e.name.endswith(SUFFIX)]
    return sorted(found)


def connect(path: Path) -> socket.socket:
    """A connection to a run; never waits for one.

    ConnectionRefusedError says that it is dead, FileNotFoundError that it is gone, and
    BlockingIOError that it has too many callers, or hangs.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        with short_name(path) as name:
            sock.connect(name)
    except BaseException:
        sock.close()
        raise
    sock.setblocking(True)
    return sock


@contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name of a file that fits into a socket address, however long its path (108 bytes do)."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _places() -> list[Path]:
    """The first is for new sockets."""
    user = os.geteuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    session = Path("/run/user", str(user))
    places = [Path(runtime)] if runtime and _is_ours(Path(runtime)) else []
    return [
        *(place / "mpflow" for place in places),
        Path("/tmp", f"mpflow-{user}"),
        session / "mpflow",
    ]


def _is_ours(folder: Path) -> bool:
    """Whether it is a folder, no link to one, and belongs to this user."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
