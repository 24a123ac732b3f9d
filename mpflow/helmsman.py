"""Does what a run's owner asks for while it goes on: `mpflow ctl RUN ...`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from mpflow.channel import Message
from mpflow.errors import ConfigError, Interrupted, OutputError
from mpflow.jobrun import JobRun
from mpflow.launch import CallerHandle
from mpflow.lifecycle import JobState
from mpflow.policies.single_frame import Wish
from mpflow.requests import (
    Answer,
    Failure,
    Preview,
    Request,
    Set,
    SetMode,
    Skip,
    Stop,
    Unskip,
    failure,
)
from mpflow.steering import Steering

Reply = Callable[[Answer | Failure], None]

MOST_PICTURES = 16
"""So many requests for pictures may wait at once: none comes while the input is silent."""

_EARLY = (JobState.PROBING, JobState.BEGINNING)


class Helmsman:
    """Takes requests from the control socket. ``job`` is the one at hand, if there is one."""

    def __init__(self, steering: Steering, job: Callable[[], JobRun | None]) -> None:
        self._steering = steering
        self._job = job
        self._previews: dict[str, list[Reply]] = {}

    def steer(self, request: Request, reply: Reply) -> None:
        """Do it, and say so by ``reply``, once, now or later. Raises MpflowError for a no."""
        wheel, say = self._steering.wheel, self._steering.say
        match request:
            case Set("max_latency", text):
                self._set_latency(text)
                reply(Answer(f"max_latency is {self._steering.max_latency:g} s from now on"))
            case Set(key, text):
                value = wheel.set(key, text)
                say(f"the owner set {key}={value}")
                reply(Answer(f"{key} is {value} from now on"))
            case Skip(stage):
                wheel.skip(stage)
                say(f"the owner left out {stage}")
                reply(Answer(f"{stage} is left out from now on"))
            case Unskip(stage):
                again = wheel.skipped.get(stage, False)
                wheel.unskip(stage)
                say(f"the owner took {stage} in again")
                kept = f"{stage} is not left out, whatever the load"
                reply(Answer(f"{stage} works again" if again else kept))
            case SetMode(mode):
                self._steering.wish = Wish(mode)
                reply(Answer(f"mode is {mode} from now on"))
            case Stop():
                self._stop()
                reply(Answer("the run ends in order"))
            case Preview(path):
                self._ask_for_picture(path, reply)
            case _:
                raise ConfigError("the run does not know what that is")

    def previewed(self, message: Message) -> None:
        """The last stage has written a picture, or could not."""
        for reply in self._previews.pop(message["path"], []):
            if message["error"]:
                reply(failure(OutputError(message["error"])))
            else:
                text = f"frame {message['frame']} is in {message['path']}"
                reply(Answer(text, path=message["path"]))

    def sink_begun(self, run: JobRun) -> None:
        """The last stage is another one: it is asked for the pictures that somebody waits for."""
        for path in self._previews:
            run.sink.tell("preview", path=path)

    def job_over(self) -> None:
        """Nothing more comes of the job: whoever waits for a picture is told."""
        waiting, self._previews = self._previews, {}
        for reply in chain(*waiting.values()):
            reply(failure(ConfigError("the run ended before another frame came")))

    def _set_latency(self, text: str) -> None:
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < float("inf"):
            raise ConfigError(f"max_latency: {text!r} is no number of seconds above 0")
        if not self._steering.wheel.spec.live:
            raise ConfigError("max_latency is of live runs: in this one no frame comes too late")
        self._steering.max_latency = seconds
        self._steering.say(f"the owner set max_latency={seconds:g}")

    def _stop(self) -> None:
        run = self._at_work(*_EARLY)
        if run.job.live and run.machine.is_in(JobState.RUNNING):
            run.wind_up()
            return
        cure = "run it again" if run.job.live else "--resume goes on with what is finished"
        run.end.stop(Interrupted("stopped by mpflow ctl", cure=cure))

    def _ask_for_picture(self, path: str, reply: Reply) -> None:
        run = self._at_work()
        wanted = path or run.job.preview
        if not wanted:
            raise ConfigError("there is no name for the picture", cure="name a .png or .jpg file")
        if isinstance(run.sink, CallerHandle):
            raise ConfigError("a program takes the frames of this run itself")
        if sum(map(len, self._previews.values())) >= MOST_PICTURES:
            raise ConfigError(
                f"{MOST_PICTURES} requests for a picture wait already", cure="try again in a moment"
            )
        self._previews.setdefault(wanted, []).append(reply)
        run.sink.tell("preview", path=wanted)

    def _at_work(self, *more: JobState) -> JobRun:
        run = self._job()
        if run is None or not run.machine.is_in(JobState.RUNNING, *more):
            raise ConfigError("the run is at no job just now", cure="try again in a moment")
        return run
