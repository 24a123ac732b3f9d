"""Control messages between the supervisor and everyone else: small msgpack maps, with descriptors.

Pixels and tokens never travel here; orders, answers, logs and errors do. A Unix SEQPACKET socket
keeps messages whole, carries descriptors, and says at once when the other side is gone.
"""

from __future__ import annotations

import array
import os
import socket
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from errno import EBADF
from types import TracebackType
from typing import Any, Self

import msgpack

from mpflow.errors import InternalError, PeerLost

MAX_MESSAGE = 128 * 1024
MAX_DESCRIPTORS = 64
ANCILLARY_BYTES = socket.CMSG_SPACE(MAX_DESCRIPTORS * array.array("i").itemsize)

Message = dict[str, Any]


class Channel:
    """One end of a control connection. Not for use by two threads at once."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Two connected ends."""
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(left), cls(right)

    @classmethod
    def adopt(cls, descriptor: int) -> Channel:
        """Take over an inherited descriptor."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._sock.fileno()

    def send(self, kind: str, descriptors: Sequence[int] = (), **values: Any) -> None:
        """Send one message, waiting for room; raises PeerLost when the other side is gone."""
        packed = self.pack(kind, values)
        try:
            if descriptors:
                socket.send_fds(self._sock, [packed], list(descriptors))
            else:
                self._sock.send(packed)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise PeerLost(f"nobody reads {kind!r} any more") from error

    def offer(self, kind: str, **values: Any) -> bool:
        """Send one message if there is room now; says whether it went. For news that can wait."""
        try:
            return self.try_to_send(self.pack(kind, values))
        except PeerLost:
            return False

    def try_to_send(self, packed: bytes, descriptors: Sequence[int] = ()) -> bool:
        """Send a packed message if there is room now; raises PeerLost when nobody is there."""
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        try:
            # socket.send_fds drops its flags in Python 3.11, so sendmsg it is
            self._sock.sendmsg([packed], [rights] if descriptors else [], socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except (BrokenPipeError, ConnectionResetError) as error:
            raise PeerLost("nobody reads any more") from error
        return True

    def receive(self, *, wait: bool = True) -> tuple[Message, list[int]] | None:
        """The next message and its descriptors; None when there is none yet and ``wait`` is off.

        Raises PeerLost when the other side has closed or died.
        """
        flags = 0 if wait else socket.MSG_DONTWAIT
        try:
            # socket.recv_fds drops its flags in Python 3.11, so recvmsg it is
            data, ancillary, _, _ = self._sock.recvmsg(
                MAX_MESSAGE, ANCILLARY_BYTES, flags | socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return None
        except (ConnectionResetError, ValueError) as error:
            raise PeerLost("the other side is gone") from error
        except OSError as error:
            if error.errno != EBADF:
                raise
            raise PeerLost("this side was closed") from error
        if not data:
            raise PeerLost("the other side is gone")
        return msgpack.unpackb(data), _descriptors(ancillary)

    @staticmethod
    def pack(kind: str, values: Message) -> bytes:
        """One message as it travels; raises InternalError for one that is too large."""
        packed: bytes = msgpack.packb({"kind": kind, **values})
        if len(packed) > MAX_MESSAGE:
            raise InternalError(f"control message {kind!r} is too large: {len(packed)} bytes")
        return packed

    def close(self) -> None:
        """Close this end."""
        self._sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Outbox:
    """Orders to one peer, kept until there is room for them: nobody who sends ever waits.

    Of the kinds in ``newest`` only the last one counts: an earlier one that still waits is dropped.
    """

    def __init__(self, channel: Channel, newest: Collection[str] = ()) -> None:
        self._channel = channel
        self._newest = frozenset(newest)
        self._waiting: deque[tuple[str, bytes, list[int]]] = deque()

    def tell(self, kind: str, descriptors: Sequence[int] = (), **values: Any) -> None:
        """Send one message as soon as there is room; one that nobody reads any more is dropped."""
        packed = Channel.pack(kind, values)
        if not self._waiting and self._try(packed, descriptors):
            return
        if kind in self._newest:
            self._waiting = deque(each for each in self._waiting if each[0] != kind)
        self._waiting.append((kind, packed, [os.dup(fd) for fd in descriptors]))

    def flush(self) -> None:
        """Send what waits, as far as there is room."""
        while self._waiting and self._try(self._waiting[0][1], self._waiting[0][2]):
            _close(self._waiting.popleft()[2])

    def close(self) -> None:
        """Forget what waits."""
        while self._waiting:
            _close(self._waiting.popleft()[2])

    def _try(self, packed: bytes, descriptors: Sequence[int]) -> bool:
        try:
            return self._channel.try_to_send(packed, descriptors)
        except PeerLost:
            return True


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _descriptors(ancillary: Iterable[tuple[int, int, bytes]]) -> list[int]:
    """The descriptors in a message's ancillary data (unix(7), SCM_RIGHTS)."""
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return found.tolist()
