"""Reading an input's packets through damage: what cannot be demuxed is passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import av
from av import Packet
from av.container import InputContainer
from av.stream import Stream
from av.video.stream import VideoStream

# How often demuxing is taken up again after an error before the rest of the file is given up.
_RESUMES = 100

Broken = Callable[[av.FFmpegError], None]
"""Told of each stretch that could not be demuxed."""


def steady(
    container: InputContainer,
    picture: int,
    broken: Broken,
    note: Callable[[Packet[Stream]], None] = lambda packet: None,
) -> Iterator[Packet[VideoStream]]:
    """The packets of stream ``picture`` in file order; ``note`` sees those of every stream.

    All streams are read, so that a video track that ends before the sound does is not taken for a
    file that was cut off. Every reading of a file comes to the same packets.
    """
    for _ in range(_RESUMES):
        try:
            for packet in container.demux():
                note(packet)
                if packet.size and packet.stream_index == picture:
                    yield cast("Packet[VideoStream]", packet)
        except av.InvalidDataError as error:
            broken(error)
        except av.FFmpegError as error:
            broken(error)
            return
        else:
            return
