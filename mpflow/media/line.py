"""One connection to a live input, read by a thread of its own.

FFmpeg cannot be interrupted while it waits for the network, only limited; a worker has to hear its
orders meanwhile. So the thread waits, and whoever is not interested any more leaves it behind: its
connection is cut, and it closes it as soon as FFmpeg comes back.
"""

from __future__ import annotations

import time
from threading import Lock, Thread

import av
from av.container import InputContainer

from mpflow.errors import InputError
from mpflow.media.address import Address
from mpflow.media.cutting import cut, sockets
from mpflow.media.feed import Arrived, Ended, Feed, Opened
from mpflow.media.probe import picture_stream

_PARTING_S = 0.2


class Line:
    """Connects to an address and fills ``feed`` until the input ends or ``close`` is called.

    ``opening`` and ``reading`` are how long, in seconds, a connection and each packet may take.
    With ``after`` a file is read from the key frame before that time stamp of its picture. The
    ``first`` line finds nobody else at its port; later ones may find one that was left behind.
    """

    def __init__(
        self,
        address: Address,
        *,
        opening: float,
        reading: float,
        after: int | None = None,
        first: bool = False,
    ) -> None:
        self.feed = Feed(patient=address.is_file)
        self.address = address
        self._opening = opening
        self._reading = reading
        self._after = after
        self._first = first
        self._container: InputContainer | None = None
        self._lock = Lock()
        self._left = False
        self._made: frozenset[tuple[int, int]] = frozenset()
        self._thread = Thread(target=self._run, name="mpf:input", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more of it; the connection is closed now, or when FFmpeg comes back."""
        self.feed.close()
        with self._lock:
            self._left = True
        self._thread.join(_PARTING_S)
        if self._thread.is_alive():
            cut(self._made)
        else:
            self._hang_up()

    def _run(self) -> None:
        try:
            self._read()
        except (av.FFmpegError, OSError, InputError) as error:
            self.feed.put(Ended(error))
        else:
            self.feed.put(Ended())
        with self._lock:
            left = self._left
        if left:
            self._hang_up()

    def _read(self) -> None:
        before = sockets()
        self._container = container = self._opened()
        self._made = sockets() - before
        stream = picture_stream(container, self.address.given)
        sounds = [sound.index for sound in container.streams.audio[:1]]
        if self._after is not None:
            container.seek(self._after, backward=True, stream=stream)
        if not self.feed.put(Opened(container)):
            return
        # All streams: where others than these two come, it is still heard that nobody wants them.
        for packet in container.demux():
            picture = packet.stream_index == stream.index
            if self.feed.is_closed:
                return
            if packet.size and (picture or packet.stream_index in sounds):
                self.feed.put(Arrived(packet, picture, time.monotonic_ns()))

    def _opened(self) -> InputContainer:
        """The open input; looked at longer where the picture is not among what came first, and
        the sender bears that it is opened again."""
        if self._first:
            self.address.require_free()
        container = self.address.open(self._opening, self._reading)
        if self.address.is_recording(container):
            container.close()
            raise self.address.recording()
        address = self.address
        if container.streams.video or address.listens or address.scheme in ("file", "pipe"):
            return container
        container.close()
        return self.address.open(self._opening, self._reading, patient=True)

    def _hang_up(self) -> None:
        with self._lock:
            container, self._container = self._container, None
        if container is not None:
            container.close()
