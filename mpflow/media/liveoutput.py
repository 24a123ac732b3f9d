"""A live output: pictures and sound in, one connection after the other out.

    write -> connected? -> encoder -> Delivery -> away
    rest  -> sound that is due, news of the connection, the next try

Whatever happens at the other end, nothing here waits for it: pictures that come while there is no
connection, or while it stands still, are dropped and counted. Each connection begins with a key
frame of a fresh encoder, and its time with the first picture or sound.
"""

from __future__ import annotations

import time
from fractions import Fraction
from math import inf

from mpflow.frame import Frame
from mpflow.media.connection import Connection
from mpflow.media.declaration import declare
from mpflow.media.destination import Destination, Kind
from mpflow.media.livecoder import LiveRecipe
from mpflow.media.liveerrors import lost
from mpflow.media.liverequest import LiveRequest, Voice
from mpflow.media.reach import Reach
from mpflow.media.sound import SoundReceiver
from mpflow.media.soundtrack import SoundQueue
from mpflow.media.timeline import Stamps
from mpflow.media.turning import UprightPictures, upright
from mpflow.spec import Job
from mpflow.tokens import Token

# Pictures are dropped while what was coded before has waited longer than this, in seconds.
_STANDING_S = 1.0
# How long one wait for a disk lasts before it is asked whether the job is to be left.
_STEP_S = 0.25
# An input with sound tells of it with its first packets: wait so long before going on without.
_SILENCE_S = 1.0
# How long the end of the stream may take, in seconds: a run that is stopped ends soon, whatever the
# other end does. A disk gets longer, unless the job has to be left.
_CLOSING_S, _CLOSING_FILE_S = 3.0, 60.0
# How old pictures are taken to be before any came, and what is added to how old they are.
_UNKNOWN_AGE_S, _MARGIN_S = 2.0, 0.1
# A muxer gives a picture on when sound after it comes: one packet, whatever the coding.
_LEAD_S = Fraction(1, 20)
# By whether there may be another connection.
_LATE_SOUND = {
    True: "the input has sound only now: the output gets it with its next connection",
    False: "the input has sound only now: the output goes on without",
}
# With each picture the oldest one so far counts a little less.
_FORGETTING = 0.98


class LiveOutput:
    """One output for the time of one job. Raises OutputError when it is lost for good."""

    def __init__(
        self, job: Job, destination: Destination, request: LiveRequest, voice: Voice
    ) -> None:
        self.written = 0
        self.dropped = 0
        self._destination = destination
        self._request = request
        self._voice = voice
        self._place = job.spec.partial
        video = job.media.video
        self._recipe = LiveRecipe(upright(video), request.settings, destination, voice.warn)
        recipe = self._recipe.recipe
        self._pictures = UprightPictures(recipe.codec, recipe.shape, video)
        self._stamps = Stamps(recipe.step)
        heard = request.audio and destination.kind is not Kind.DEVICE
        expected = heard and any(stream.kind == "audio" for stream in job.media.streams)
        self._sound = SoundQueue(SoundReceiver(job.sound if heard else -1))
        self._has_sound: bool | None = None
        self._expects_sound = expected and job.sound >= 0
        self._age: float | None = None
        self._first_picture: float | None = None
        self._reach = Reach(destination, request, voice)
        declare({}, request.said, destination.container, voice.warn)  # what is lost, told once
        self._link: Connection | None = None
        if not self._expects_sound:
            self._connect()

    def write(self, token: Token, frame: Frame) -> str:
        """Send a picture; says why it was dropped, if it was."""
        now = time.monotonic()
        self._first_picture = now if self._first_picture is None else self._first_picture
        if token.born:
            age = (time.monotonic_ns() - token.born) / 1e9
            self._age = age if self._age is None else max(age, self._age * _FORGETTING)
        pts = self._own_time(token)
        at = pts * self._recipe.shape.time_base
        self._tend(now, at)
        link = self._link
        if link is None:
            return self._drop("the output is not connected")
        if not self._has_room(link):
            return self._drop("the output does not take more")
        picture = self._pictures(frame)
        picture.time_base = self._recipe.shape.time_base
        if not link.picture(picture, pts, token):
            return self._drop("it comes before the output's beginning")
        self.written += 1
        self._send_sound(now, at + _LEAD_S)
        return ""

    def rest(self) -> None:
        """Send sound that is due, and see to the connection."""
        self._tend(time.monotonic(), None)

    def finish(self) -> bool:
        """Send what is left and end the stream; False where the other end did not take it."""
        link, self._link = self._link, None
        if link is not None:
            self._send_tail(link)
        self._sound.receiver.close()
        if link is None:
            return False
        with self._voice.waiting():
            is_whole = self._end(link)
        if not is_whole:
            self._recant(link)
        if not is_whole and not self._destination.is_lasting and link.error is not None:
            raise lost(self._destination, link.error) from link.error
        return is_whole

    def close(self) -> None:
        """Let go of everything, without sending what is left."""
        link, self._link = self._link, None
        self._sound.receiver.close()
        if link is not None:
            link.abandon()

    def _end(self, link: Connection) -> bool:
        """End a connection; False where the other end did not take it in time."""
        link.finish()
        left = min(self._request.caution.timeout, _CLOSING_S)
        if self._destination.kind is Kind.FILE:
            left = _CLOSING_FILE_S
        until = time.monotonic() + left
        while not link.wait(min(_STEP_S, left)):
            if self._voice.leaving():
                until = min(until, time.monotonic() + _CLOSING_S)
            left = until - time.monotonic()
            if left <= 0:
                link.abandon()
                return False
        return link.error is None

    def _own_time(self, token: Token) -> int:
        """A picture's time in ticks of the encoder; later than the one before."""
        base, ours = Fraction(*token.time_base), self._recipe.shape.time_base
        pts = None if token.pts is None else round(token.pts * base / ours)
        return self._stamps.next(pts, round(token.duration * base / ours))

    def _tend(self, now: float, at: Fraction | None) -> None:
        """See to the connection, and send the sound up to ``at``."""
        self._look(now)
        while not self._sound.take_in():
            self._change_sound()
        if self._has_sound is False and self._sound.receiver.stream is not None:
            self._has_sound = None
            self._voice.warn(_LATE_SOUND[self._destination.is_lasting])
        if self._link is None and self._reach.may_try(now) and self._knows_sound(now):
            self._connect()
        if self._link is not None and at is not None:
            self._link.begin(at)
        self._send_sound(now, at)

    def _send_sound(self, now: float, at: Fraction | None) -> None:
        """Send the sound up to ``at``, and what has waited long enough."""
        takes = self._link is not None and self._has_room(self._link)
        patience = (_UNKNOWN_AGE_S if self._age is None else self._age) + _MARGIN_S
        for packet in self._sound.due(at, now - patience):
            if self._link is not None and takes:
                self._link.sound(packet)

    def _send_tail(self, link: Connection) -> None:
        """Send the sound that still waits for a picture, if there is room for it."""
        if self._sound.take_in() and link.backlog <= _STANDING_S:
            for packet in self._sound.due(None, inf):
                link.sound(packet)

    def _look(self, now: float) -> None:
        """Take in what became of the connection. Raises OutputError when there is no hope."""
        link = self._link
        if link is None:
            self._reach.is_away(now)
        elif link.error is not None:
            self._link = None
            self._recant(link)
            self._reach.lost(link.error, now)
        elif link.is_proven and not link.is_counted:
            link.is_counted = True
            self._reach.reached()
        else:
            self._reach.stands(link.backlog)

    def _recant(self, link: Connection) -> None:
        """Of what a connection was given, that which never arrived was not delivered after all."""
        for token in link.take_lost():
            self.written -= 1
            why = self._drop("the connection broke before it arrived")
            self._voice.recant(token, why)

    def _connect(self) -> None:
        request = self._request
        stream = self._sound.receiver.stream
        if self._expects_sound and stream is None:
            self._voice.warn("no sound came in time, so the output has none")
        self._has_sound = stream is not None
        self._link = Connection(
            self._destination,
            self._recipe,
            place=self._place,
            sound=stream,
            bitrate=request.audio_bitrate,
            options=self._destination.options(
                request.caution, metadata_keys=bool(request.said.tags)
            ),
            note=request.note,
            said=request.said,
        )

    def _knows_sound(self, now: float) -> bool:
        """Whether it is known what sound there is, or no longer worth waiting for."""
        if not self._expects_sound or self._sound.receiver.stream is not None:
            return True
        return self._first_picture is not None and now - self._first_picture > _SILENCE_S

    def _change_sound(self) -> None:
        """Another stream of sound comes from here on."""
        stream = self._sound.receiver.stream
        if self._link is None or stream is None or self._link.follow_sound(stream):
            return
        if not self._destination.is_lasting:
            self._voice.warn("the sound changes on the way to what the output cannot hold beside")
            self._link.end_sound()
            return
        self._voice.warn("the sound changes on the way: the output begins anew")
        link, self._link = self._link, None
        link.abandon()
        self._recant(link)

    def _has_room(self, link: Connection) -> bool:
        """Whether the connection moves; a file is waited for, as no picture of it may be lost."""
        if link.backlog <= _STANDING_S:
            return True
        if self._destination.kind is not Kind.FILE:
            return False
        with self._voice.waiting():
            while not (moves := link.wait_for_room(_STANDING_S / 2, _STEP_S)):
                if link.error is not None or self._voice.leaving():
                    break
        return moves

    def _drop(self, why: str) -> str:
        self.dropped += 1
        self._voice.count("undelivered", 1)
        return why
