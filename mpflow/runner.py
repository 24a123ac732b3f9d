"""The loop of a stage in the middle: take a batch, work on it, give each frame on.

    take -> accept -> process -> stamp -> give          until the job is over
      |       |          |-- raises: pixels put back, each frame again by itself, then the policy
      |       |          `-- no memory: pixels put back, all frames again, fewer at once
      |       `-- not wanted, left out, given up, or known already: given on without work
      `-- too late, in a live run: dropped

It waits on its bell and on the supervisor's orders, always bounded, and looks again. The ends'
loops are in sourcerunner.py and sinkrunner.py.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mpflow import wire
from mpflow.analysis import Remembered
from mpflow.batcher import Batching, BatchPolicy
from mpflow.collector import Collector
from mpflow.desk import Desk
from mpflow.errors import ContractError, is_out_of_memory
from mpflow.failing import Again, Failures, Held, Outcome
from mpflow.heed import Heed
from mpflow.recall import CUT_SHORT, Memory
from mpflow.shedding import Shedder
from mpflow.shm import Lease, ViewSurvives
from mpflow.spec import Job, Rules
from mpflow.stage import Stage, Work
from mpflow.tokens import FrameState, Stamp, Token

AHEAD_S = 0.05
"""How long a stage that is ahead of the next one waits for its bell at most."""


class StageRunner:
    """Gives a stage its batches and gives on every frame that the stage has finished."""

    def __init__(  # noqa: PLR0913, PLR0917 - one value for each thing that a stage's loop needs
        self,
        desk: Desk,
        stage: Stage[Any],
        job: Job,
        rules: Rules,
        memory: Memory,
        batching: Batching | None = None,
        heed: Heed | None = None,
    ) -> None:
        self._desk = desk
        self._stage = stage
        self._job = job
        self._memory = memory
        self._rules = rules
        self._failures = Failures(desk, rules)
        self._heed = heed or Heed(desk, stage, rules)
        self._shedder = Shedder(desk, rules)
        size = min(stage.max_batch, rules.batch or stage.max_batch)
        asked = BatchPolicy(size, int(stage.max_wait_ms * 1e6))
        self._batches = Collector(desk, batching or Batching(), asked, live=rules.live)
        self._held: dict[int, Held] = {}
        self._again = Again()
        self._epoch = desk.ring.epoch
        self._cut_short = False

    def run(self) -> None:
        """Work until the job is over."""
        desk = self._desk
        self._recall()
        while not desk.orders.over:
            self._leave_the_past()
            self._heed.look()
            if self._again:
                self._work_again()
            elif desk.orders.parked and not self._batches.has_put_by:
                self._stand_by()
            elif self._held and self._heed.left_out:
                self._flush()  # frames behind them are given on without the stage
            elif self._is_ahead():
                desk.meter.waited_for_input(desk.wait(AHEAD_S))
            elif batch := self._batches.collect():
                self._work(batch)
                desk.orders.read()
            elif self._held and desk.ring.upstream_empty():
                self._flush()
            else:
                desk.meter.waited_for_input(desk.wait())

    def _is_ahead(self) -> bool:
        """Whether what is made now would be in vain: the next stage takes only the newest."""
        limit = self._desk.orders.helm.ahead.get(self._desk.name)
        return limit is not None and self._desk.ring.depth(self._desk.ring.stage + 1) >= limit

    def _stand_by(self) -> None:
        """Give on what the stage holds back, then take nothing until it is needed again."""
        if self._held:
            self._flush()
            return
        self._desk.tell("parked")
        self._desk.orders.wait_to_be_needed()
        self._start_over()

    def _leave_the_past(self) -> None:
        """Let go of frames that are made again, since the sink was replaced."""
        if self._desk.ring.epoch == self._epoch:
            return
        self._epoch = self._desk.ring.epoch
        self._again.clear()
        self._batches.forget()
        for held in self._held.values():
            held.frame.end()
            self._desk.ring.free(held.lease)
        self._held.clear()
        self._start_over()

    def _start_over(self) -> None:
        """Bring a stage that remembers or holds frames back to what its finished frames say."""
        self._cut_short = False
        if self._stage.may_hold or self._stage.remembers:
            self._stage.begin(self._job)
            self._recall()

    def _recall(self) -> None:
        """Let the stage take up its memory, which may be long."""
        with self._desk.meter.building():
            self._memory.recall(self._stage)

    def _flush(self) -> None:
        """No frame will come any more: the stage must give on something of what it holds."""
        before = len(self._held)
        self._desk.orders.read()
        self._cut_short |= self._desk.orders.stop and not self._rules.live
        try:
            self._give_all(self._stage.flush(), time.monotonic_ns())
        except Exception as error:  # noqa: BLE001 - whatever a stage raises, its policy decides
            self._stumble_in_flush(error)
            return
        self._failures.flushed()
        if len(self._held) == before:
            raise ContractError(
                f"stage {self._desk.name} holds {before} frames, and flush gave none of them",
                cure="yield the token of every frame held back in flush",
            )

    def _work(self, batch: Iterable[Lease]) -> None:
        started = time.monotonic_ns()
        works = []
        for lease in batch:
            if self._shedder.newest_first:
                self._shedder.leave_behind(lease)
            if not self._shedder.drops(lease) and (work := self._accept(lease, started)):
                works.append(work)
        self._process(works, started)
        if len(self._held) > self._stage.may_hold + len(self._again):
            raise self._holds_too_many()

    def _holds_too_many(self) -> ContractError:
        stage, name, held = self._stage, self._desk.name, len(self._held)
        if stage.may_hold < stage.holds:
            return ContractError(
                f"stage {name} keeps {held} frames and declares least_holds = {stage.least_holds},"
                f" but does not do with {stage.may_hold}",
                cure="keep no more than may_hold back, or leave least_holds as it is",
            )
        return ContractError(
            f"stage {name} keeps {held} frames but declares holds = {stage.holds}",
            cure="yield a token for every frame, or declare what the stage holds back",
        )

    def _work_again(self) -> None:
        """Work again on frames whose batch failed: suspects one by one, others as many as fit."""
        seqs, alone = self._again.next(self._batches.policy.max_batch)
        works = []
        for held in (self._held[seq] for seq in seqs):
            self._desk.ring.work(held.lease)
            held.frame = self._desk.frame(held.lease, editable=self._stage.changes_pixels)
            works.append(Work(held.token, held.frame, alone=alone))
        self._process(works, time.monotonic_ns())

    def _accept(self, lease: Lease, taken: int) -> Work | None:
        """Open a frame's card; None when there is nothing to do here and it was given on."""
        token = replace(wire.unpack(lease.token), retries=lease.retries)
        token = self._heed.note_mode(token)
        self._cut_short |= CUT_SHORT in token.fields and self._stage.may_hold > 0
        if token.wants(self._desk.name) and self._heed.left_out:
            token = self._heed.leave_out(token)
        if not token.wants(self._desk.name):
            self._desk.ring.give(lease, wire.pack(token))
            return None
        frame = self._desk.frame(lease, editable=self._stage.changes_pixels)
        self._held[token.seq] = held = Held(lease, frame, token, taken)
        if lease.quarantined:
            self._give_up(held, self._failures.quarantine(token))
            return None
        if (known := self._memory.known(token)) is not None:
            self._give_known(held, known)
            return None
        self._desk.ring.work(lease)
        return Work(token, frame, alone=lease.alone)

    def _give_known(self, held: Held, known: Remembered) -> None:
        """Give on a frame that is made again as it was given on the first time."""
        if known.given_up:
            self._give_up(held, Outcome(FrameState(known.given_up), known.reason))
        else:
            self._give(known.on(held.token), held.taken)

    def _process(self, works: Sequence[Work], started: int) -> None:
        if not works:
            return
        try:
            self._give_all(self._stage.process(works), started)
        except Exception as error:  # noqa: BLE001 - whatever a stage raises, its policy decides
            self._stumble(error, [work.token.seq for work in works])
        else:
            self._batches.worked(len(works))

    def _stumble_in_flush(self, error: Exception) -> None:
        """All that is held back is tried again, or given up together: nobody knows whose fault."""
        held = list(self._held.values())
        outcome = self._failures.decide_flush(error, held)  # raises what ends the run
        for each in held:
            each.frame.end()
            self._desk.ring.undo(each.lease)
        self._start_over()
        if outcome is None:
            self._again.add(self._held, alone=True)
            return
        for each in held:
            self._give_up(each, outcome)

    def _stumble(self, error: Exception, seqs: Sequence[int]) -> None:
        """Put everything back as it was before the stage raised, and decide how to go on."""
        left = [self._held[seq] for seq in seqs if seq in self._held]
        outcome = None
        if smaller := len(seqs) > 1 and bool(left) and is_out_of_memory(error):
            traceback.clear_frames(error.__traceback__)  # nothing of the frames is held by it
            self._batches.ran_out(len(seqs))
        else:
            outcome = self._failures.decide(error, left)  # raises what ends the run
        undone = list(self._held.values()) if self._stage.may_hold else left
        for held in undone:
            held.frame.end()
            self._desk.ring.undo(held.lease)
        self._start_over()
        again = {held.token.seq for held in undone}
        if outcome is not None:
            again.discard(left[0].token.seq)
            self._give_up(left[0], outcome)
        self._again.add(again, alone=not smaller)

    def _give_up(self, held: Held, outcome: Outcome) -> None:
        """Give on a frame that could not be worked on; a masked one is covered first."""
        name = self._desk.name
        token = held.token.with_state(outcome.state, stage=name, reason=outcome.reason)
        if outcome.state is FrameState.MASKED:
            held.frame = self._desk.frame(held.lease)
            held.frame.cover()
        if outcome.state is not FrameState.PASSED:
            token = replace(token, ops=())
        self._memory.keep(token, outcome.state, outcome.reason)
        self._give(token, time.monotonic_ns())

    def _give_up_bare(self, held: Held, error: wire.WireError) -> None:
        """Give up a frame with a card that cannot travel. It may not be the one that was worked on
        just now, and would be no other at the next attempt."""
        outcome = self._failures.refuse(error, held)  # raises what ends the run
        if outcome.state is not FrameState.PASSED:
            held.token = held.token.with_faces(())  # nobody works on it any more
        self._desk.ring.undo(held.lease)
        self._held[held.token.seq] = held
        self._give_up(held, outcome)

    def _give_all(self, tokens: Iterable[Token], started: int) -> None:
        given = 0
        for token in tokens:
            self._give(token, started)
            given += 1
        self._desk.meter.worked(time.monotonic_ns() - started, frames=given, batches=1)

    def _give(self, token: Token, started: int) -> None:
        desk = self._desk
        held = self._held.pop(token.seq, None)
        if held is None:
            raise ContractError(
                f"stage {desk.name} gave a token for frame {token.seq}, which it does not have",
                cure="yield each frame's token exactly once",
            )
        self._failures.given(token.seq)
        stamp = Stamp(desk.name, desk.worker, held.taken, started, time.monotonic_ns())
        desk.meter.timed(stamp.ended - started, started - token.since)
        token = self._heed.note_degraded(token)
        held.frame.end()
        if self._cut_short:
            token = token.with_field(CUT_SHORT, True)
        try:
            card = wire.pack(token.done(stamp))
        except wire.WireError as error:
            self._give_up_bare(held, error)
            return
        if not self._cut_short:
            self._memory.keep(token)
        try:
            desk.ring.give(held.lease, card)
        except ViewSurvives as error:
            raise ContractError(
                f"stage {desk.name} still holds pixels of frame {token.seq} when it gives it on",
                cure="let go of every array made from a frame before yielding its token;"
                " pixel work in a method of its own leaves none behind",
            ) from error
