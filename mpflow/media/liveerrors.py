"""What a failure at the other end of a live output means, said with its cure."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from urllib.parse import urlsplit

import av

from mpflow.errors import MpflowError, OutputError, ReaderGone, ResourceError
from mpflow.media.address import authorities
from mpflow.media.destination import Caution, Destination, Kind
from mpflow.protocols import PROTOCOLS, SECURE

_TLS_PORT = 443
_REASONS = {
    errno.ECONNREFUSED: "nothing listens there",
    errno.ETIMEDOUT: "it does not answer, or takes nothing more",
    errno.EPIPE: "the connection was closed by the other side",
    errno.ECONNRESET: "the connection was closed by the other side",
    errno.EIO: "it is not reached, or refuses the stream",
}
_CAMERA = {
    errno.ENOENT: "modprobe v4l2loopback exclusive_caps=1 makes a loopback camera",
    errno.EACCES: "join the group it belongs to: video",
    errno.EBUSY: "another program writes to it: end that one, or take another device",
    errno.EINVAL: "it takes no such pictures: is it a camera rather than a loopback device, or read"
    " at another size at the moment?",
    errno.ENOTTY: "that is no video device: ls -l /dev/video* shows those there are",
    errno.ENODEV: "its driver is gone: modprobe v4l2loopback",
}
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (
    av.HTTPUnauthorizedError,
    av.HTTPForbiddenError,
    av.HTTPNotFoundError,
    av.HTTPBadRequestError,
)


def lost(destination: Destination, error: BaseException) -> MpflowError:
    """The error of an output that was, or could not be, written to."""
    name = destination.shown
    reason = _reason(error)
    if destination.kind is Kind.DEVICE:
        return OutputError(f"the device {name} cannot be written: {reason}", cure=_device(error))
    if destination.kind is Kind.STDOUT:
        closed = _number(error) in (errno.EPIPE, errno.ECONNRESET)
        why = "nobody reads it any more" if closed else reason
        cure = "keep its reader open to the end, or write a file with -o"
        kind = ReaderGone if closed else OutputError
        return kind(f"standard output cannot be written: {why}", cure=cure)
    if _number(error) in _NO_ROOM:
        return ResourceError(f"the disk is full: {name} cannot be written", cure="free some space")
    if destination.kind is Kind.FILE:
        return OutputError(f"{name} cannot be written: {reason}", cure="choose another place")
    return OutputError(f"the output {name} is lost: {reason}", cure=_network(destination))


def away(destination: Destination, error: BaseException) -> str:
    """What is told while it is tried again."""
    return f"the output {destination.shown} takes nothing: {_reason(error)}; trying again"


def unreachable(
    destination: Destination, seconds: float, error: BaseException | None
) -> OutputError:
    """The error of an output that could not be reached for too long."""
    last = f": {_reason(error)}" if error is not None else ""
    return OutputError(
        f"the output {destination.shown} took nothing for {seconds:.0f} s{last}",
        cure="check that it runs; --retry sets how long to go on trying (inf: for ever)",
    )


def is_hopeless(
    destination: Destination, error: BaseException, caution: Caution
) -> MpflowError | None:
    """The error of a first connection that no further try would change, else None.

    FFmpeg does not say that a certificate was refused, so the server is asked for it again.
    """
    if destination.kind is Kind.DEVICE:
        return lost(destination, error)
    if isinstance(error, _REFUSED):
        return OutputError(
            f"the output {destination.shown} refuses the stream: {_reason(error)}",
            cure="check the address, user name and password",
        )
    if isinstance(error, av.ArgumentError | av.ProtocolNotFoundError | av.PatchWelcomeError):
        return OutputError(
            f"the output {destination.shown} cannot be opened like this: {_reason(error)}",
            cure="check the address",
        )
    if destination.protocol in SECURE and not caution.insecure:
        return _distrust(destination, caution)
    return None


def _distrust(destination: Destination, caution: Caution) -> OutputError | None:
    """Ask a server for its certificate, and say what is wrong with it."""
    try:
        url = urlsplit(destination.text)
        host, port = url.hostname or "", url.port
    except ValueError:
        return None  # FFmpeg has its own idea of such an address
    port = port or PROTOCOLS[destination.protocol].port or _TLS_PORT
    context = ssl.create_default_context(cafile=caution.ca_file or authorities())
    try:
        with (
            socket.create_connection((host, port), caution.timeout) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return None
    except ssl.SSLCertVerificationError as error:
        return OutputError(
            f"the certificate of {host} is not to be trusted: {error.verify_message}",
            cure="give its authority with send.ca_file, or do not check with --insecure",
        )
    except OSError:
        return None


def _network(destination: Destination) -> str:
    if destination.protocol.startswith("rtmp"):
        return "check that the server runs, and that application and stream key are right"
    return "check that it runs and is reachable from here"


def _device(error: BaseException) -> str:
    return _CAMERA.get(_number(error), "check the device")


def _number(error: BaseException) -> int:
    return getattr(error, "errno", None) or 0


def _reason(error: BaseException) -> str:
    number = _number(error)
    return (
        _REASONS.get(number)
        or getattr(error, "strerror", None)
        or (os.strerror(number) if number else str(error))
    )
