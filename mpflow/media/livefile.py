"""A live output that is a file: it has its own name from the first byte, and grows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mpflow.errors import OutputError
from mpflow.media.destination import Destination, Kind
from mpflow.media.output import output_error
from mpflow.media.source import ffmpeg_name
from mpflow.spec import JobSpec

_MOST_PIECES = 10_000


def claim_file(destination: Destination, job: JobSpec) -> Destination:
    """Make sure that a file can be written; any other destination is returned as it is.

    A job that is gone on with leaves what there is, and goes on in another file beside: NAME-2.EXT.
    Raises OutputError or ResourceError.
    """
    if destination.kind is not Kind.FILE:
        return destination
    path = Path(destination.text)
    if job.resume:
        pieces = (_piece(path, number) for number in range(2, _MOST_PIECES))
        path = next((piece for piece in pieces if not piece.exists()), path)
    elif path.exists() and not job.overwrite:
        raise OutputError(f"the output {str(path)!r} exists already", cure="-y overwrites it")
    try:
        path.open("wb").close()
    except OSError as error:
        raise output_error(path, error) from error
    return replace(destination, text=str(path), target=ffmpeg_name(str(path)))


def _piece(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}-{number}{path.suffix}")
