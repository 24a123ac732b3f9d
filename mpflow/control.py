"""The client's side of a running pipeline: find it, ask it.

with Control(find("door")) as run:
    run.ask(Set("detect.every", "2")).text
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from mpflow.errors import ConfigError, InternalError, PeerLost
from mpflow.requests import MAX_ANSWER, Answer, Hello, Identity, Request, pack, read_answer
from mpflow.rundir import connect, sockets

HELLO_S = 2.0
"""How long a run may take to say who it is; it does so between two looks at its clock."""

ANSWER_S = 20.0
"""How long it may take to do what it is asked: a preview waits for the next frame."""


@dataclass(frozen=True, slots=True)
class RunAt:
    """A run that is going on, and where it is reached. Without ``identity`` it does not answer."""

    path: Path
    identity: Identity | None

    @property
    def id(self) -> str:
        """The run's id."""
        return self.path.stem

    @property
    def name(self) -> str:
        """What it was called, if anything."""
        return "" if self.identity is None else self.identity.name


class Control:
    """A connection to one run. For one thread, as a context manager.

    Raises PeerLost when the run is over, InternalError when it does not answer.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._sock = connect(path)
        except BlockingIOError as error:
            raise InternalError(
                f"run {path.stem} takes no more callers, or hangs", cure="try again in a moment"
            ) from error
        except OSError as error:
            raise PeerLost(
                f"run {path.stem} is over", cure="mpflow ctl lists those there are"
            ) from error

    def ask(self, request: Request, patience: float = ANSWER_S) -> Answer:
        """One request and its answer; raises the error that the run answers with."""
        self._sock.settimeout(patience)
        try:
            self._sock.send(pack(request))
            data = self._sock.recv(MAX_ANSWER)
        except TimeoutError as error:
            raise InternalError(
                f"run {self._path.stem} does not answer within {patience:.0f} s",
                cure="its log says more; a signal to its process ends it",
            ) from error
        except OSError as error:
            raise self._over() from error
        if not data:
            raise self._over()
        return read_answer(data)

    def close(self) -> None:
        """Hang up."""
        self._sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _over(self) -> PeerLost:
        return PeerLost(f"run {self._path.stem} is over")


def runs() -> list[RunAt]:
    """Every run of this user that is going on; those that are over are passed over."""
    found = []
    for path in sockets():
        with suppress(PeerLost):
            found.append(RunAt(path, _identity(path)))
    return found


def find(word: str = "") -> RunAt:
    """The run of this id, name or process, or of an id that begins so; without a word the only
    one there is. Raises ConfigError that names those there are."""
    known = runs()
    if not known:
        raise ConfigError(
            "no run is going on" if not word else f"there is no run {word!r}: none is going on",
            cure="only runs of this user are seen; a run of another one has its own `mpflow ctl`",
        )
    found = _meant(word, known) if word else known
    if len(found) == 1:
        return found[0]
    what = f"there is no run {word!r}" if not found else f"{len(found)} runs could be meant"
    raise ConfigError(what, cure=f"name one of: {', '.join(map(_called, found or known))}")


def _meant(word: str, known: Sequence[RunAt]) -> list[RunAt]:
    exact = [run for run in known if word in (run.id, run.name, *_pids(run))]
    return exact or [run for run in known if run.id.startswith(word)]


def _pids(run: RunAt) -> Sequence[str]:
    """The supervisor's process, and the one that started it, which is what a shell knows."""
    if run.identity is None:
        return ()
    pid = run.identity.pid
    with suppress(OSError):
        # the second field, the program's name in parentheses, may itself contain spaces
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return str(pid), fields[1]
    return (str(pid),)


def _called(run: RunAt) -> str:
    return f"{run.name} ({run.id})" if run.name else run.id


def _identity(path: Path) -> Identity | None:
    """Who is there; None for one that does not say. Raises PeerLost when nobody is."""
    try:
        with Control(path) as control:
            return control.ask(Hello(), HELLO_S).hello
    except PeerLost:
        raise
    except InternalError:
        return None
