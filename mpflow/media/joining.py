"""Joining chunks that were made one by one: pictures by packet copy, the rest from the input.

    all chunks there? of this input, with these settings? -> assembly -> NAME.EXT

The chunks stay, so that it can be done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mpflow.errors import Refused
from mpflow.media.assembly import Assembly, deepest
from mpflow.media.checkpoint import Key, compare, load, make_key
from mpflow.media.chunks import Kept, found
from mpflow.media.opening import Opening
from mpflow.media.output import OutputFile
from mpflow.media.parts import Parts, parts_folder
from mpflow.media.request import Request, wanted_span
from mpflow.media.salvage import no_frame_left, require_pictures
from mpflow.spec import Job, SinkSummary

Range = tuple[int, int]
_MOST_NAMED = 8


def join_chunks(
    job: Job,
    request: Request,
    ranges: Sequence[Range] | None,
    warn: Callable[[str], None] = lambda text: None,
) -> SinkSummary:
    """Make a job's output of its chunks, those of ``ranges`` or all that there are.

    Raises Refused for chunks that are missing, damaged, or made of something else, and what else
    an output can fail with; then nothing is left that was not there before.
    """
    said: list[str] = []

    def say(text: str) -> None:
        if text not in said:
            said.append(text)
            warn(text)

    parts = Parts(parts_folder(job.spec))
    chunks = choose(parts.folder, ranges, job.spec.start)
    file = OutputFile(job.spec)
    if not any(chunk.pictures for chunk in chunks):
        raise no_frame_left(file)
    file.prepare()
    try:
        assembly = _set_up(job, request, file, chunks, say)
    except BaseException:
        file.abandon()
        raise
    try:
        assembly.start()
        for chunk in chunks:
            assembly.append(parts.folder / chunk.name, parts.read(chunk))
        assembly.finish(complete=True)
        require_pictures(file.partial, assembly.pictures)
        size = file.commit()
    except BaseException:
        assembly.abandon()
        file.discard()
        raise
    return SinkSummary(assembly.pictures, str(file.final), size, warnings=tuple(said))


def choose(folder: Path, ranges: Sequence[Range] | None, start: int) -> list[Kept]:
    """The chunks to join, in order; raises Refused that names those that are missing."""
    there = {(chunk.start, chunk.stop): chunk for chunk in found(folder)}
    wanted = sorted(there) if ranges is None else list(ranges)
    missing = [span for span in wanted if span not in there]
    expected = start
    for begin, end in wanted:
        if begin > expected:
            missing.append((expected, begin))
        elif begin < expected:
            raise Refused(
                f"two chunks in {str(folder)!r} have frame {begin}",
                cure="remove those that are not wanted",
            )
        expected = end
    if missing or not wanted:
        raise Refused(
            f"chunks are missing in {str(folder)!r}: {_named(sorted(missing)) or 'all'}",
            cure="make them first: mpflow render",
            facts={"missing": [list(span) for span in missing]},
        )
    return [there[span] for span in wanted]


def _set_up(
    job: Job, request: Request, file: OutputFile, chunks: list[Kept], say: Callable[[str], None]
) -> Assembly:
    """Open the output and check that the chunks are this job's; nothing is written yet."""
    opening = Opening(job.media, request.settings, request.keep, say)
    opened = opening.open(file, job.spec.input, wanted_span(job.spec, job.media), growing=False)
    assembly = Assembly(file, opened, say, depth=deepest(chunks))
    try:
        key = make_key(job.spec, job.media, {"encoder": opened.recipe.facts()})
        _require(Parts(parts_folder(job.spec)), chunks, key)
    except BaseException:
        assembly.abandon()
        raise
    return assembly


def _require(parts: Parts, chunks: list[Kept], key: Key) -> None:
    kept = load(parts.folder)
    if kept is None:
        raise Refused(
            f"{str(parts.folder)!r} has no checkpoint, so nothing tells what its chunks are",
            cure="make the plan and the chunks again",
        )
    compare(parts.folder, kept, key)
    parts.know(key)
    for chunk in chunks:
        parts.require_ours(chunk)


def _named(spans: Sequence[Range]) -> str:
    shown = ", ".join(f"{start}-{stop}" for start, stop in spans[:_MOST_NAMED])
    more = len(spans) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
