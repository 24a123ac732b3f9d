"""The supervisor of a run, started before anybody knows what it will do.

It takes a moment to load its libraries; meanwhile the plan and the configuration are made here.
One that turns out not to be needed (wrong usage) is ended before it has done anything, and one
that is lost has a successor.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from mpflow.channel import Message
from mpflow.session import Listener, Session
from mpflow.spec import PipelineSpec


class Supervisors:
    """Supervisors for one run, one at a time; a context manager that sees them off."""

    def __init__(self) -> None:
        self._early: Session | None = Session(self._hear)
        self._opened: list[Session] = []
        self._listener: Listener | None = None

    def serve(self, spec: PipelineSpec, log_file: Path | None, listener: Listener) -> None:
        """From now on it is known what is wanted, and who hears the news."""
        self._spec = spec
        self._log_file = "" if log_file is None else str(log_file)
        self._listener = listener

    def session(self) -> Session:
        """A supervisor ready for jobs."""
        session, self._early = self._early or Session(self._hear), None
        self._opened.append(session)
        session.open(self._spec, log_file=self._log_file)
        return session

    def _hear(self, message: Message) -> None:
        if self._listener is not None:
            self._listener(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._early is not None:
            self._early.cancel()
        for session in self._opened:
            session.close()
