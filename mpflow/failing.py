"""What becomes of frames that a stage fails on, as the runner carries it out.

a batch raises        each of its frames is tried again by itself
a frame raises alone  again, up to ``retries`` times, then ``on_failure``
no memory for a batch its frames again in smaller batches; for one frame: as above
a worker died on it, twice, the second time on it alone: it is not tried again (quarantine)
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mpflow.desk import Desk
from mpflow.errors import (
    LONGEST_TRACEBACK,
    ContractError,
    InternalError,
    MpflowError,
    StageDied,
    describe,
)
from mpflow.frame import Frame
from mpflow.policies.failure import Fail, Give, Retry, decide, give_up
from mpflow.shm import Lease
from mpflow.spec import Rules
from mpflow.tokens import FrameState, Token


@dataclass(slots=True)
class Held:
    """A frame this worker has: its lease, its pixels, its token, and when it was taken."""

    lease: Lease
    frame: Frame
    token: Token
    taken: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a frame that is given up, and why."""

    state: FrameState
    reason: str


class Again:
    """Frames to be worked on once more, in their order: those under suspicion each by itself."""

    def __init__(self) -> None:
        self._seqs: list[int] = []
        self._suspects: set[int] = set()

    def __len__(self) -> int:
        return len(self._seqs)

    def add(self, seqs: Iterable[int], *, alone: bool) -> None:
        """Put frames back; ``alone`` when one of them may be at fault."""
        more = set(seqs)
        self._seqs = sorted({*self._seqs, *more})
        if alone:
            self._suspects |= more

    def next(self, room: int) -> tuple[list[int], bool]:
        """The next frames, at most ``room``, and whether that is one under suspicion."""
        alone = self._seqs[0] in self._suspects
        size = 1
        while not alone and size < min(room, len(self._seqs)):
            if self._seqs[size] in self._suspects:
                break
            size += 1
        seqs, self._seqs = self._seqs[:size], self._seqs[size:]
        self._suspects.difference_update(seqs)
        return seqs, alone

    def clear(self) -> None:
        """Forget all of them."""
        self._seqs.clear()
        self._suspects.clear()


class Failures:
    """Counts the attempts on frames that failed, and tells the supervisor of each."""

    def __init__(self, desk: Desk, rules: Rules) -> None:
        self._desk = desk
        self._rules = rules
        self._attempts: dict[int, int] = {}
        self._flushes = 0

    def decide(self, error: Exception, left: Sequence[Held]) -> Outcome | None:
        """What follows from an exception: try again (None), or give the one frame up.

        Waits as long as the policy says before another attempt. Raises the error itself where it
        must end the run; nothing of the frames is held by its traceback afterwards.
        """
        traceback.clear_frames(error.__traceback__)
        if len(left) > 1:  # one of them is at fault: each gets its own attempts
            if isinstance(decide(error, 1, 1, "fail"), Fail):
                raise error
            self._tell(left, describe(error), "retry")
            return None
        if not left:
            raise error
        seq = left[0].token.seq
        attempt = self._attempts[seq] = self._attempts.get(seq, 0) + 1
        outcome = self._carry_out(error, attempt, left)
        if outcome is not None:
            self.given(seq)
        return outcome

    def decide_flush(self, error: Exception, held: Sequence[Held]) -> Outcome | None:
        """The same for an exception in ``flush``, which concerns all frames that are held back."""
        traceback.clear_frames(error.__traceback__)
        self._flushes += 1
        outcome = self._carry_out(error, self._flushes, held)
        if outcome is not None:
            self.flushed()
        return outcome

    def refuse(self, error: InternalError, held: Held) -> Outcome:
        """What becomes of a frame with a card that cannot travel. Raises ContractError where that
        must end the run, and where the frame was given up already."""
        verdict, what = give_up(self._rules.on_failure), describe(error)
        if isinstance(verdict, Fail) or held.token.state is not FrameState.LIVE:
            text = f"stage {self._desk.name}: {error.what}"
            raise ContractError(text, cure=error.cure, facts=error.facts) from error
        self._tell([held], what, verdict.state)
        return Outcome(verdict.state, what)

    def given(self, seq: int) -> None:
        """A frame is given on: how often it failed does not matter any more."""
        self._attempts.pop(seq, None)

    def flushed(self) -> None:
        """What was held back is given on: the next flush has all its attempts again."""
        self._flushes = 0

    def _carry_out(self, error: Exception, attempt: int, held: Sequence[Held]) -> Outcome | None:
        what = describe(error)
        match decide(error, attempt, self._rules.retries, self._rules.on_failure):
            case Retry(pause_s):
                self._tell(held, what, "retry")
                self._desk.pause(pause_s)
                return None
            case Give(state):
                self._tell(held, what, state)
                return Outcome(state, what)
            case Fail():
                raise _named(error, held[0].token.seq)

    def quarantine(self, token: Token) -> Outcome:
        """What becomes of a frame on which a worker died alone; raises StageDied for ``fail``."""
        verdict = give_up(self._rules.on_failure)
        reason = f"{token.retries} workers of {self._desk.name} died on it"
        state = "not given on, and ends the run" if isinstance(verdict, Fail) else verdict.state
        self._desk.tell("quarantined", frame=token.seq, state=state, reason=reason)
        if isinstance(verdict, Fail):
            raise StageDied(
                f"frame {token.seq} cannot be worked on: {reason}, the last one on it alone",
                cure="on_failure mask, pass or skip goes on without it",
                facts={"stage": self._desk.name, "frame": token.seq},
            )
        return Outcome(verdict.state, reason)

    def _tell(self, left: Sequence[Held], what: str, then: str) -> None:
        self._desk.tell("stumbled", frame=left[0].token.seq, what=what, then=then)


def _named(error: Exception, frame: int) -> Exception:
    """The error that ends the run, with the frame it came over; one of ours says enough itself."""
    if isinstance(error, MpflowError):
        return error
    named = InternalError(
        f"{describe(error)} (frame {frame})",
        cure="--on-failure mask, pass or skip goes on without such a frame",
        facts={"frame": frame},
    )
    # as the stage's own: what comes behind it in a chain would push it out of sight
    named.remote_traceback = "".join(traceback.format_exception(error))[-LONGEST_TRACEBACK:]
    return named
