"""The sink of live runs: codes every picture at once and sends it, with the sound beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from mpflow.errors import InternalError
from mpflow.spec import REDACTED, Making, SinkSummary
from mpflow.stage import Job, Options, Sink
from mpflow.tokens import Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.media.encoder import Settings
    from mpflow.media.liveoutput import LiveOutput
    from mpflow.media.liverequest import LiveRequest


class SendOptions(Options, frozen=True):
    """Where to, how coded, and how patient with the other end.

    ``format`` names the container where the output's name does not tell. ``crf`` and
    ``encoder_preset`` are the encoder's own scales; None takes a default fit for a stream (21 and
    veryfast for libx264). ``bitrate`` (3M) is the most there may be, within any second. A key frame
    comes every ``gop_seconds``. ``audio`` False leaves out the sound, which is copied where the
    container takes it and otherwise coded as AAC of ``audio_bitrate``. The network may stand still
    for ``timeout`` seconds before the connection counts as lost; without one for ``retry`` seconds
    (inf: any time) the run ends. Certificates are checked by the authorities in ``ca_file``, or
    those the machine trusts; ``insecure`` goes on without. ``transport`` is how RTSP carries its
    packets: tcp, within the connection, or udp. ``note`` goes into the comment of a stream that has
    one (a file, RTMP). ``made`` is set where stages make faces, and by them alone: the stream says
    so where it has tags, and ``producer`` is whom it names as its maker.
    """

    format: str = ""
    codec: str = "libx264"
    crf: float | None = None
    bitrate: Annotated[
        str, msgspec.Meta(pattern=r"^(\d+(\.\d+)?[kKM]?)?$", examples=["4M", "800k"])
    ] = ""
    encoder_preset: str | None = None
    encoder_options: dict[str, str] = msgspec.field(default_factory=dict)
    gop_seconds: Annotated[float, msgspec.Meta(gt=0, le=60)] = 2.0
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0
    audio: bool = True
    audio_bitrate: Annotated[str, msgspec.Meta(pattern=r"^\d+[kK]?$", examples=["128k"])] = "128k"
    timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 5.0
    retry: Annotated[float, msgspec.Meta(ge=0)] = 30.0
    insecure: bool = False
    ca_file: str = ""
    transport: Literal["tcp", "udp"] = "tcp"
    note: str = ""
    made: Making = ""
    producer: str = "mpflow"


class Send(Sink[SendOptions]):
    """Sends to a network, a file as it grows, standard output or a loopback camera.

    Pictures that come while the other end does not take them are dropped and counted. Of the
    input nothing but picture and sound is passed on: no tags, no other streams.
    """

    Options: ClassVar[type[Options]] = SendOptions
    live: ClassVar[bool] = True
    redacted_options: ClassVar[Mapping[str, Any]] = {"note": REDACTED}
    made_option: ClassVar[str] = "made"
    advice: ClassVar[str] = "a faster preset, a lower bitrate or a hardware encoder would help"
    _output: LiveOutput | None = None
    _shown = ""

    @property
    def holds(self) -> int:
        """Slots whose pixels the encoder may still use after ``write``: its frame threads'."""
        from mpflow.media.encoder import held_pictures

        return held_pictures(self._settings)

    def begin(self, job: Job) -> None:
        """Find out how to code, and begin to connect.

        Raises ConfigError or OutputError for what no further try would change; whether the other
        end is there is seen while pictures come.
        """
        from mpflow.media.destination import find_destination
        from mpflow.media.livefile import claim_file
        from mpflow.media.liveoutput import LiveOutput
        from mpflow.media.liverequest import Voice

        self.close()
        context, resumed = self.context, job.spec.resume
        destination = claim_file(find_destination(job.spec.output, self.options.format), job.spec)
        voice = Voice(
            context.warn,
            context.alert,
            context.count,
            context.waiting,
            context.leaving,
            self._take_back,
        )
        with context.building():
            self._output = LiveOutput(job, destination, self._request, voice)
        self._shown = destination.text
        self.restartable = destination.can_go_on
        if resumed and destination.is_file:
            context.warn(f"the output goes on in {destination.text!r}")
        context.report("encoder", self.options.codec)
        context.report("container", destination.container)

    def write(self, token: Token, frame: Frame) -> str | None:
        """Send the next picture, or say why it was dropped.

        Raises OutputError when the other end is lost for good.
        """
        return self._opened().write(token, frame) or None

    def rest(self) -> None:
        """Send sound, and see to the connection, while no picture comes."""
        self._opened().rest()

    def finish(self, *, complete: bool) -> SinkSummary:
        """Send what is left and end the stream; what was dropped is in the warnings."""
        output = self._opened()
        self._output = None
        is_taken = output.finish()
        warnings = []
        if output.dropped:
            warnings.append(f"{output.dropped} pictures came while the output took none")
        if not is_taken:
            warnings.append("the end of the stream was not taken by the other side")
        return SinkSummary(
            frames=output.written,
            path=self._shown,
            complete=complete,
            warnings=tuple(warnings),
        )

    def close(self) -> None:
        """Let go of a connection that was not ended."""
        output, self._output = self._output, None
        if output is not None:
            output.close()

    @property
    def _request(self) -> LiveRequest:
        from mpflow.media.destination import Caution
        from mpflow.media.livecoder import LiveSettings
        from mpflow.media.liverequest import LiveRequest
        from mpflow.provenance.tags import declaration_of

        options = self.options
        return LiveRequest(
            LiveSettings(self._settings, options.bitrate, options.gop_seconds),
            audio=options.audio,
            audio_bitrate=options.audio_bitrate,
            caution=Caution(options.timeout, options.insecure, options.ca_file, options.transport),
            retry=options.retry,
            note=options.note,
            said=declaration_of(options.made, options.producer),
        )

    @property
    def _settings(self) -> Settings:
        from mpflow.media.encoder import Settings

        options = self.options
        return Settings(
            codec=options.codec,
            crf=options.crf,
            preset=options.encoder_preset,
            options=options.encoder_options,
            threads=options.threads or self.context.threads,
        )

    def _take_back(self, token: Token, why: str) -> None:
        if self.recant is not None:
            self.recant(token, why)

    def _opened(self) -> LiveOutput:
        if self._output is None:
            raise InternalError("send was used before begin")
        return self._output
