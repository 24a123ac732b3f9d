"""The caller's side: a supervisor process of one's own, and the conversation with it.

The supervisor runs as its own process whoever the caller is (the command line, an unguarded
script, a notebook cell, a thread), so nothing of the caller is imported a second time, and a
caller that dies ends the run in order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from mpflow import errors
from mpflow.channel import Channel, Message
from mpflow.errors import InternalError, MpflowError, PeerLost
from mpflow.reactor import STOP_SIGNALS
from mpflow.report import Report
from mpflow.spec import JobSpec, PipelineSpec
from mpflow.urls import shown

LEAVE_S = 10.0
"""How long the supervisor may take to leave before it is killed."""

Listener = Callable[[Message], None]


@dataclass(frozen=True, slots=True)
class JobResult:
    """How one job ended: its report, and the error if it failed."""

    report: Report
    error: MpflowError | None


class Session:
    """Starts a supervisor and gives it jobs, one after another. For one thread."""

    def __init__(self, listener: Listener = lambda message: None) -> None:
        self._listener = listener
        self.channel, theirs = Channel.pair()
        os.set_inheritable(theirs.fileno(), True)
        command = [sys.executable, "-P", "-m", "mpflow.supervisor"]
        # The supervisor inherits these signals blocked and opens up once it can handle them: one
        # that comes while its interpreter starts waits instead of killing it half made.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            self._process = subprocess.Popen(
                [*command, "--channel", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": _import_path()},
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._signals = 0
        self.interrupted = False

    def open(self, spec: PipelineSpec, *, takes_frames: bool = False, log_file: str = "") -> None:
        """Say what pipeline is wanted; its workers start at once."""
        self.channel.send(
            "open",
            spec=msgspec.to_builtins(spec),
            takes_frames=takes_frames,
            log_file=str(Path(log_file).absolute()) if log_file else "",
            run=uuid.uuid4().hex[:8],
            path=_import_path().split(os.pathsep),
        )

    def run(self, job: JobSpec) -> JobResult:
        """Run one job to its end, whatever that is; a dead supervisor is an end too.

        A KeyboardInterrupt ends the job in order; ``interrupted`` then says that there was one.
        """
        try:
            self.start(job)
            while True:
                received = self.channel.receive()
                if received is None:
                    continue
                if (result := self.hear(received[0])) is not None:
                    return result
        except PeerLost:
            return self.lost(job)
        except KeyboardInterrupt:
            self.interrupted = True
            self.stop(signal.SIGINT)
            return self._await_end(job)

    def start(self, job: JobSpec) -> None:
        """Send one job; raises PeerLost when the supervisor is gone."""
        self.channel.send("job", job=msgspec.to_builtins(job))

    def hear(self, message: Message) -> JobResult | None:
        """Take in one message; the result, when it is the job's last one."""
        if message["kind"] != "done":
            self._listener(message)
            return None
        report = msgspec.convert(message["report"], Report)
        error = message["error"]
        return JobResult(report, None if error is None else errors.from_wire(error))

    def stop(self, number: int) -> None:
        """Ask for an end in order; the second time for an end at once; the third kills."""
        self._signals += 1
        if self._signals > 2:
            self._process.kill()
            return
        with suppress(PeerLost):
            if self._signals == 1:
                self.channel.send("stop", signal=int(number))
            else:
                self.channel.send("abort")

    def close(self) -> None:
        """Say goodbye and see the supervisor off."""
        with suppress(PeerLost):
            self.channel.send("close")
        self.channel.close()
        try:
            self._process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def cancel(self) -> None:
        """End a supervisor that has nothing to do yet, without seeing it off."""
        self._process.kill()
        self.channel.close()
        self._process.wait()

    @property
    def alive(self) -> bool:
        """Whether the supervisor is there to take another job."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        return self._process.pid

    def lost(self, job: JobSpec) -> JobResult:
        """The result when the supervisor died: how, and what became of the output."""
        code = self._process.wait()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        error = InternalError(
            f"the supervisor (pid {self._process.pid}) ended {how}",
            cure="run again",
        )
        ends = shown(job.input), shown(job.output)
        report = Report(job.id, *ends, partial=job.partial)
        return JobResult(report, error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _await_end(self, job: JobSpec) -> JobResult:
        try:
            while True:
                received = self.channel.receive()
                if received is not None and (result := self.hear(received[0])) is not None:
                    return result
        except PeerLost:
            return self.lost(job)


def _import_path() -> str:
    """The caller's import path, so that its own stages are found; never the bare current folder."""
    return os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
