"""Where a live output goes, and how FFmpeg is told to get it there.

    rtmp rtmps      FLV                rtsp rtsps        RTP, announced
    udp tcp tls     MPEG-TS            http https        MPEG-TS, put in pieces
    NAME.EXT        by its ending      -                 NUT, or what is asked for
    /dev/videoN     raw pictures, as a camera gives them

Networks are written to by FFmpeg's ``fifo`` muxer: it connects and sends in a thread of its own, so
that nothing here ever waits for them, and hands on the options that bound how long it waits itself.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import cast

import av
from av import ContainerFormat
from av.format import Flags

from mpflow.errors import ConfigError, OutputError
from mpflow.media.address import authorities
from mpflow.media.muxer import FRAGMENTED, Fragments
from mpflow.media.source import ffmpeg_name
from mpflow.protocols import PROTOCOLS, SECURE, SRT_WRITTEN, device_of
from mpflow.spec import STDOUT
from mpflow.urls import is_url, shown

FIFO_PACKETS = 4
"""Packets on their way into FFmpeg's thread: a muxer that takes more than these is connected."""

# How far apart packets are put in order by the muxer, in microseconds. They come in order: one
# that waits for another does so in vain, but for the last of them where the other track is silent.
_AT_ONCE_US, _IN_FILE_US = "1", "500000"
_SHORT = {"ts": "mpegts", "m2ts": "mpegts", "mkv": "matroska"}
_CAMERA = "video4linux2"


class Kind(Enum):
    """What is at the other end."""

    NETWORK = "network"
    FILE = "file"
    STDOUT = "standard output"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Caution:
    """``timeout`` bounds each wait, in seconds. Certificates are checked by the authorities in
    ``ca_file`` (empty: those the machine trusts), or not at all where that is ``insecure``.
    ``transport`` is how RTSP carries its packets: tcp, within the connection, or udp."""

    timeout: float = 5.0
    insecure: bool = False
    ca_file: str = ""
    transport: str = "tcp"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an output goes: ``target`` as FFmpeg is given it, ``container`` by FFmpeg's name."""

    text: str
    kind: Kind
    target: str
    container: str
    protocol: str = ""

    @property
    def shown(self) -> str:
        """As a person may see it: without passwords and stream keys."""
        return "standard output" if self.kind is Kind.STDOUT else repr(shown(self.text))

    @property
    def is_lasting(self) -> bool:
        """Whether it can be lost and reached again."""
        return self.kind in (Kind.NETWORK, Kind.DEVICE)

    @property
    def is_file(self) -> bool:
        """Whether it is a file that grows."""
        return self.kind is Kind.FILE

    @property
    def can_go_on(self) -> bool:
        """Whether another process can go on with what one has begun: by connecting anew, or in a
        file beside. On standard output only a transport stream may begin again in its middle."""
        return self.kind is not Kind.STDOUT or self.container == "mpegts"

    @property
    def has_global_header(self) -> bool:
        """Whether the container keeps a stream's header apart from its packets."""
        flags = ContainerFormat(self.container, "w").flags
        return bool(flags & cast(int, Flags.global_header.value))

    def holds(self, codec: str) -> bool:
        """Whether the container has a place for that coding; ``codec`` is an encoder's name."""
        trial = av.open(io.BytesIO(), "w", format=self.container)
        try:
            trial.add_stream(codec)
        except ValueError:
            return False
        return True

    def options(
        self, caution: Caution, *, metadata_keys: bool = False
    ) -> tuple[str, dict[str, str]]:
        """The muxer to open, and its options; ``metadata_keys`` as for ``set_muxer_options``."""
        muxing = {"flush_packets": "1", "fflags": "+bitexact"}
        muxing |= _muxing(self.container, metadata_keys)
        order = {"max_interleave_delta": _IN_FILE_US if self.kind is Kind.FILE else _AT_ONCE_US}
        if self.kind is not Kind.NETWORK:
            return self.container, muxing | order
        timeout = str(round(caution.timeout * 1e6))
        if self.container == "rtsp":
            sending = {"timeout": timeout, "rtsp_transport": caution.transport}
        else:
            sending = {"rw_timeout": timeout, **_SENDING.get(self.protocol, {})}
        if self.protocol in SECURE:
            sending |= _trust(caution)
        return "fifo", {
            "fifo_format": self.container,
            "queue_size": str(FIFO_PACKETS),
            "format_opts": _joined({**muxing, **sending}),
            **order,
        }


def find_destination(text: str, container: str = "") -> Destination:
    """Take an output's name apart; raises OutputError or ConfigError for what cannot be one.

    ``container`` is FFmpeg's name of one, or a file's ending, where the name does not tell.
    """
    if text == STDOUT:
        return Destination(text, Kind.STDOUT, text, _container(container or "nut"))
    if (device := device_of(text)) is not None:
        return Destination(text, Kind.DEVICE, device, _CAMERA)
    if is_url(text):
        return _network(text, container)
    if not text:
        raise ConfigError("there is no output", cure="give one with -o; - is standard output")
    ending = Path(text).suffix.lstrip(".")
    return Destination(text, Kind.FILE, ffmpeg_name(text), _container(container or ending))


def _network(text: str, container: str) -> Destination:
    protocol = text.partition(":")[0].lower()
    if protocol not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        cure = SRT_WRITTEN if protocol == "srt" else f"one of {known}, a file, /dev/videoN or -"
        raise OutputError(f"{protocol}:// is nothing that can be written to", cure=cure)
    name = _container(container or PROTOCOLS[protocol].container)
    return Destination(text, Kind.NETWORK, text, name, protocol)


def _container(name: str) -> str:
    known = _SHORT.get(name.lower(), name.lower())
    try:
        if known:
            return ContainerFormat(known, "w").name
    except ValueError:
        pass
    raise ConfigError(
        f"there is no container {name!r}" if name else "the output does not name its container",
        cure="end it in .ts, .mkv, .mp4 or .flv, or give a format: mpegts, matroska, mp4, flv, nut",
    )


def _muxing(container: str, metadata_keys: bool) -> dict[str, str]:
    if container in FRAGMENTED:
        flags = (*Fragments.EXACT.value, *(["use_metadata_tags"] if metadata_keys else []))
        return {"movflags": "".join(f"+{flag}" for flag in flags)}
    return _MUXING.get(container, {})


# Sound goes out packet by packet in a transport stream, and FLV's header is not to be amended.
_MUXING = {
    "mpegts": {"pes_payload_size": "0", "omit_video_pes_length": "0"},
    "flv": {"flvflags": "no_duration_filesize"},
}
_PUT = {"method": "PUT", "content_type": "video/mp2t", "chunked_post": "1"}
_SENDING = {
    "udp": {"pkt_size": "1316"},  # whole packets of a transport stream in one Ethernet frame
    "http": _PUT,
    "https": _PUT,
}


def _trust(caution: Caution) -> dict[str, str]:
    """How certificates are checked: FFmpeg checks nothing unless told."""
    if caution.insecure:
        return {"tls_verify": "0"}
    return {"tls_verify": "1", "ca_file": caution.ca_file or authorities()}


def _joined(options: dict[str, str]) -> str:
    """Options as FFmpeg takes several in one: k=v:k=v, with what parts them escaped."""
    return ":".join(f"{key}={_escaped(value)}" for key, value in options.items())


def _escaped(value: str) -> str:
    return re.sub(r"([\\':=])", r"\\\1", value)
