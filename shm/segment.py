"""The shared memory itself: made, unlinked at once, handed on as a descriptor, mapped.

    supervisor: create -> (fd goes to each worker) -> attach there
    top, ctl:   open /proc/PID/fd/N -> attach

Between ``create`` and its return the segment has a name, and its maker holds a flock on it;
``sweep`` removes what a maker killed in that moment left. After that no name exists, so nothing
can collide, and the kernel frees the memory with the last process that maps it.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import secrets
from contextlib import suppress
from errno import ENOSPC
from multiprocessing import resource_tracker, shared_memory
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from mpflow.shm import layout
from mpflow.shm.errors import NoSpace, NotASegment, SegmentClosed
from mpflow.shm.layout import END, EPOCH, PUB, UNKNOWN, Geometry
from mpflow.shm.lock import Lock
from mpflow.shm.order import waiting
from mpflow.shm.word import Word

DIRECTORY = Path("/dev/shm")
PREFIX = "mpflow-"


class Segment:
    """A mapped frame ring. ``fd`` names it for others; ``lock`` is this process's own.

    ``board`` is all cells that stores go to, ``cells`` those that every move reads, ``births``
    when the frame in each slot was born.

    Reading properties need no lock: each cell is read whole, though two cells may be of
    different moments.
    """

    def __init__(self, fd: int, geometry: Geometry) -> None:
        self.fd = fd
        self.geometry = geometry
        self.memory = mmap.mmap(fd, geometry.total_bytes)
        _keep_out_of_dumps(self.memory)
        whole = memoryview(self.memory)
        self.bytes = whole
        self.board = whole[layout.BOARD_AT :][: 8 * geometry.all_cells].cast("Q")
        self.cells = self.board[: geometry.board_cells]
        self.births = self.board[geometry.first_born : geometry.first_record]
        self.lengths = whole[geometry.lengths_at :][: 16 * geometry.slots].cast("Q")
        self.slot_type = ctypes.c_ubyte * (geometry.slot_bytes + geometry.side_bytes)
        self.lock = Lock(fd, whole[layout.LOCK_AT :][:8].cast("Q"))

    @classmethod
    def create(cls, geometry: Geometry) -> Segment:
        """Make a segment, back all of it with memory, and take its name away.

        Raises NoSpace if shared memory has too little room: better now than SIGBUS later.
        """
        fd = _create_unlinked(geometry.total_bytes)
        os.pwrite(fd, layout.header(geometry), 0)
        segment = cls(fd, geometry)
        segment.cells[END] = UNKNOWN
        return segment

    @classmethod
    def attach(cls, fd: int) -> Segment:
        """Map the segment behind a descriptor, which stays the caller's.

        Raises NotASegment, WrongVersion or WrongGeometry if it is something else.
        """
        try:
            own = os.open(f"/proc/self/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise NotASegment(f"descriptor {fd} cannot be opened: {error.strerror}") from error
        try:
            data = os.pread(own, layout.HEADER.size, 0)
            return cls(own, layout.read_header(data, os.fstat(own).st_size))
        except (OSError, NotASegment) as error:
            os.close(own)
            if isinstance(error, NotASegment):
                raise
            raise NotASegment(f"descriptor {fd} cannot be read: {error.strerror}") from error

    def snapshot(self) -> list[int]:
        """Read the whole board, without the lock."""
        if self.fd < 0:
            raise SegmentClosed("the segment was closed")
        return self.cells.tolist()

    @property
    def epoch(self) -> int:
        """How often the sink was rewound."""
        return self.snapshot()[EPOCH]

    @property
    def published(self) -> int:
        """The next frame to decode; all before it were published in this epoch or are durable."""
        return self.snapshot()[PUB]

    @property
    def end(self) -> int | None:
        """How many frames the input has, once the source has seen its end."""
        total = self.snapshot()[END]
        return None if total == UNKNOWN else total

    def words(self) -> list[Word]:
        """Every slot's word, taken apart."""
        return [Word.unpack(word) for word in self.snapshot()[self.geometry.first_word :]]

    def depth(self, stage: int) -> int:
        """How many frames wait for a stage."""
        return len(waiting(self.snapshot(), self.geometry.first_word, stage))

    def drained(self) -> bool:
        """Whether the input has ended and no slot holds a frame any more."""
        cells = self.snapshot()
        return cells[END] == cells[PUB] and not any(cells[self.geometry.first_word :])

    def handle(self) -> Handle:
        """Wrap the descriptor for an argument of ``multiprocessing.Process``."""
        return Handle(self.fd)

    def close(self) -> None:
        """Unmap and forget; the mapping stays while arrays made from it live."""
        if self.fd < 0:
            return
        os.close(self.fd)
        self.fd = -1
        self.lock.close()
        # nothing is released by force: arrays keep the mapping alive as long as they need it
        del self.memory, self.bytes, self.board, self.cells, self.births, self.lengths


class Handle:
    """A descriptor on its way to a child process: ``fd`` is valid on both sides."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __getstate__(self) -> Any:
        return DupFd(self.fd)

    def __setstate__(self, passed: Any) -> None:
        self.fd = passed.detach()


def _keep_out_of_dumps(memory: mmap.mmap) -> None:
    """A core dump of a worker must not carry frames; not every kernel can promise it."""
    with suppress(OSError):
        memory.madvise(mmap.MADV_DONTDUMP)


def _create_unlinked(size: int) -> int:
    """Return a descriptor of ``size`` bytes of shared memory without a name."""
    _check_room(size)
    named, fd = _create_named(size)
    try:
        # before the memory is taken, which lasts: who is killed over that leaves no name
        _unname(named)
        _allocate(fd, size)
    except BaseException:
        os.close(fd)
        raise
    # from here on the lock on this inode is the ring's
    fcntl.flock(fd, fcntl.LOCK_UN)
    return fd


def _create_named(size: int) -> tuple[shared_memory.SharedMemory, int]:
    """Create a segment under a name of ours; the descriptor holds the flock that keeps it."""
    while True:
        name = PREFIX + secrets.token_hex(8)
        named = shared_memory.SharedMemory(name=name, create=True, size=size)
        try:
            fd = os.open(DIRECTORY / name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            fcntl.flock(fd, fcntl.LOCK_EX)
        except FileNotFoundError:
            # a sweep came between the creation and the flock: begin again under a new name
            _unname(named)
            continue
        return named, fd


def _unname(named: shared_memory.SharedMemory) -> None:
    named.close()
    try:
        named.unlink()
    except FileNotFoundError:
        # a sweep was faster; the tracker must not report the name as left behind
        resource_tracker.unregister(f"/{named.name}", "shared_memory")


def _check_room(size: int) -> None:
    room = os.statvfs(DIRECTORY)
    available = room.f_bavail * room.f_frsize
    if available < size:
        raise NoSpace(needed=size, available=available)


def _allocate(fd: int, size: int) -> None:
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        room = os.fstatvfs(fd)
        raise NoSpace(needed=size, available=room.f_bavail * room.f_frsize) from error
