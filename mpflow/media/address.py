"""Addresses of live inputs: what each kind needs so that FFmpeg starts soon and gives up in time.

    rtsp rtsps   packets within the connection (TCP) unless UDP is asked for
    rtmp rtmps   sound may come long before the first picture: see ``patient``
    udp tcp      MPEG transport streams
    http https   whatever is served, or posted where it listens
    /dev/videoN  a camera (Video4Linux); v4l2:/dev/NAME says so of any device
    a FIFO       whatever another program writes into it
    a file       played as if it came in live

Measured on loopback: with FFmpeg's own limits the start of an RTMP stream is looked at for seconds;
with these it takes 0.2 s. ``fflags=nobuffer`` would throw away what was looked at, and with it the
key frame that decoding starts from: the first picture came a whole group of pictures later.
"""

from __future__ import annotations

import errno
import math
import os
import re
import socket
import ssl
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import av
from av.container import InputContainer

from mpflow.errors import ConfigError, InputError
from mpflow.media.fifo import written
from mpflow.media.patience import Unseen
from mpflow.media.source import ffmpeg_name, open_input
from mpflow.protocols import LISTENING, PROTOCOLS, SECURE, SRT_READ, device_of
from mpflow.urls import is_url, shown

SCHEMES = tuple(PROTOCOLS)
# Enough to know both streams of a sender that begins with them, in bytes and microseconds.
_QUICK = {"probesize": "50000", "analyzeduration": "200000"}
# For a stream entered in the middle, whose next key frame may be a while away.
_PATIENT = {"probesize": "5000000", "analyzeduration": "10000000"}
_LONGEST_WAIT_S = 30 * 24 * 3600.0
# To open and to look at the streams, and the same again.
_STEPS = 4


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asks of a live input; see ReceiveOptions."""

    listen: bool = False
    transport: str = "tcp"
    format: str = ""
    insecure: bool = False
    ca_file: str = ""
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Address:
    """One live input: what FFmpeg opens, as what, with which options."""

    given: str
    name: str
    scheme: str
    wishes: Wishes

    @classmethod
    def of(cls, given: str, wishes: Wishes) -> Address:
        """Read an address; raises ConfigError or InputError where it can be none."""
        if is_url(given):
            scheme = given.partition(":")[0].lower()
            _require_known(given, scheme)
            if wishes.listen and scheme not in LISTENING:
                raise ConfigError(
                    f"{shown(given)!r} is of a kind that cannot be listened for",
                    cure=f"listen for one of {', '.join(sorted(LISTENING))}",
                )
            return cls(given, given, scheme, wishes)
        if (device := device_of(given)) is not None:
            return cls(given, device, "v4l2", wishes)
        return cls(given, ffmpeg_name(given), "pipe" if Path(given).is_fifo() else "file", wishes)

    @property
    def is_file(self) -> bool:
        """Whether it is played by its own time stamps rather than as it comes."""
        return self.scheme == "file"

    @property
    def tells_end(self) -> bool:
        """Whether an end in order can be told from a loss."""
        protocol = PROTOCOLS.get(self.scheme)
        return self.scheme in ("file", "pipe") if protocol is None else protocol.tells_end

    @property
    def steps(self) -> int:
        """How often ``open`` may wait for ``opening_s``, and again when it is patient. A device
        has no part in that: its driver answers at once, or hangs."""
        return 1 if self.scheme == "v4l2" else _STEPS

    @property
    def shown(self) -> str:
        """The address as messages may show it."""
        return shown(self.given)

    @property
    def listens(self) -> bool:
        """Whether others connect to it."""
        return self.wishes.listen or bool(re.search(r"[?&]listen=[1-9]", self.given))

    def require_free(self) -> None:
        """Raise OSError where somebody else has the port of a datagram address."""
        if self.scheme == "udp" and (port := urlsplit(self.given).port):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
                trial.bind(("", port))

    def open(self, opening_s: float, reading_s: float, *, patient: bool = False) -> InputContainer:
        """Connect; raises av.FFmpegError (ExitError when that or later a read takes too long)."""
        if self.is_file:
            return open_input(self.given)
        if self.scheme == "v4l2" and not Path(self.name).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name)
        waits = min(opening_s, _LONGEST_WAIT_S), min(reading_s, _LONGEST_WAIT_S)
        pipe = written(Path(self.given), waits[0]) if self.scheme == "pipe" else None
        with pipe or nullcontext(self.name) as name:
            return av.open(
                name,
                "r",
                format=self.wishes.format or ("v4l2" if self.scheme == "v4l2" else None),
                options=self._options(opening_s, patient=patient),
                timeout=waits,
                metadata_errors="replace",
            )

    def _options(self, opening_s: float, *, patient: bool) -> dict[str, str]:
        options = dict(_PATIENT if patient else _QUICK)
        if self.scheme in ("rtsp", "rtsps"):
            options["rtsp_transport"] = self.wishes.transport
            if self.wishes.listen:
                waiting = math.ceil(min(opening_s, _LONGEST_WAIT_S))
                options |= {"rtsp_flags": "listen", "listen_timeout": str(waiting)}
        elif self.wishes.listen:
            options["listen"] = "1"
        if self.scheme == "udp":
            # The newest of two sockets gets what comes, so that a connection that was left behind,
            # and reads on in vain, is in nobody's way, and soon finds out.
            options |= {"overrun_nonfatal": "1", "reuse": "1"}
        if self.scheme in SECURE:
            options |= self._trust()
        return options | self.wishes.options

    def _trust(self) -> dict[str, str]:
        if self.wishes.insecure:
            return {"tls_verify": "0"}
        return {"tls_verify": "1", "ca_file": self.wishes.ca_file or authorities()}

    def is_recording(self, container: InputContainer) -> bool:
        """Whether a web server gives something that is not live: of known length, or in pieces
        of some seconds each."""
        if self.scheme not in ("http", "https") or self.listens:
            return False
        pieces = {"hls", "dash"} & set(container.format.name.split(","))
        return bool(pieces) or container.duration is not None or container.size > 0

    def recording(self) -> InputError:
        """The error of what is not live."""
        return InputError(
            f"{self.shown!r} is a recording, or comes in pieces of seconds: it has no pace to keep",
            cure="use mpflow run, or download it and play the file",
        )

    def explain(self, error: Exception) -> InputError:
        """What a failed opening means, with the cure."""
        if isinstance(error, InputError):
            return error
        what, cure = self._meaning(error)
        return InputError(f"{self.shown!r} {what}", cure=cure)

    def _meaning(self, error: Exception) -> tuple[str, str]:
        number = getattr(error, "errno", None)
        text = getattr(error, "strerror", "") or type(error).__name__
        if isinstance(error, Unseen):
            return "has no picture that can be decoded", "check that it plays"
        if isinstance(error, av.ExitError):
            return self._silence()
        if isinstance(error, av.error.HTTPUnauthorizedError):
            return "asks for a user name and password", "put them into the address"
        if number == errno.EIO and self.scheme in SECURE and not self.wishes.insecure:
            return _DISTRUSTED
        cure = "check the address"
        if self.scheme == "v4l2":
            cure = "check the device: v4l2-ctl --list-devices shows what there is"
            return f"cannot be opened: {text}", cure
        return _FAILURES.get(number or 0, (f"cannot be opened: {text}", cure))

    def _silence(self) -> tuple[str, str]:
        if self.listens:
            return "was listened for, and nobody came", "start the sender, or wait longer"
        if self.scheme == "pipe":
            return "gives nothing: nobody writes into it", "start the program that writes it"
        return _SILENT


_SILENT = "does not answer", "check the address, and that something is sent there"
_DISTRUSTED = (
    "has no secure connection: its certificate cannot be trusted, or it refused",
    "name the authority's file with receive.ca_file, or do not check with --insecure",
)
_FAILURES = {
    errno.EADDRINUSE: ("cannot be listened for: the port is taken", "take another port"),
    errno.ECONNREFUSED: (
        "cannot be reached: connection refused",
        "start the server, or wait for a sender with --listen",
    ),
    errno.EIO: ("does not answer, or refuses", _SILENT[1]),
}


def authorities() -> str:
    """The file of certificates that this machine trusts; FFmpeg's library knows of none."""
    paths = ssl.get_default_verify_paths()
    found = os.environ.get("SSL_CERT_FILE") or paths.cafile or ""
    if not found:
        raise ConfigError(
            "this machine has no file of certificates that it trusts",
            cure="install ca-certificates, or name a file with receive.ca_file",
        )
    return found


def _require_known(given: str, scheme: str) -> None:
    if scheme == "srt":
        raise ConfigError(f"{shown(given)!r} is of a kind that cannot be read", cure=SRT_READ)
    if scheme not in SCHEMES:
        raise ConfigError(
            f"{shown(given)!r} is of a kind that cannot be read live",
            cure=f"give one of {', '.join(SCHEMES)}, a /dev/video device or a file",
        )
