"""Files that a job writes beside its output: each frame's token, and a timeline.

FILE       for one input
FOLDER     or FOLDER/: in it, for each output, NAME.EXT.tokens.jsonl or NAME.EXT.trace.json
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from mpflow.errors import OutputError
from mpflow.jobs.conflicts import Planned, exists
from mpflow.jobs.discover import VIDEO_SUFFIXES
from mpflow.spec import STDOUT, JobSpec
from mpflow.tokenlines import TOKENS_BEGIN
from mpflow.trace import TRACE_BEGINS
from mpflow.urls import is_url

_ENDINGS = {"tokens": ".tokens.jsonl", "trace": ".trace.json"}
_BEGIN = {"tokens": TOKENS_BEGIN, "trace": TRACE_BEGINS}
_HEAD_BYTES = 512


def with_side_files(
    planned: Sequence[Planned], kind: str, given: str, output_folder: str
) -> list[Planned]:
    """Give each job its file of a ``kind`` (``tokens``, ``trace``); raises OutputError.

    ``output_folder`` is what the outputs lie below, if there is such a folder.
    """
    if not given:
        return list(planned)
    if given.endswith(os.sep) or Path(given).is_dir():
        names = [_below(one.job, output_folder, _ENDINGS[kind]) for one in planned]
        paths = [str(Path(given) / name) for name in names]
    else:
        if len(planned) > 1:
            raise OutputError(
                f"--{kind} {given!r} is one file, and there are {len(planned)} inputs",
                cure=f"give a folder, as in --{kind} {given.removesuffix('/')}/",
            )
        check_side_file(f"--{kind}", given)
        paths = [given] * len(planned)
    return [
        replace(one, job=msgspec.structs.replace(one.job, **{kind: path}))
        for one, path in zip(planned, paths, strict=True)
    ]


def check_side_file(flag: str, given: str, ending: str = "") -> None:
    """Raise OutputError for a name that cannot be, or should not be, a report of any kind, or has
    not the ``ending`` of its kind."""
    path = Path(given)
    if ending and path.suffix.lower() != ending and not path.is_dir():
        raise OutputError(
            f"{flag} {given!r} does not end in {ending}",
            cure=f"it is a {ending.lstrip('.').upper()}: name it {path.with_suffix(ending).name}",
        )
    if path.suffix.lower() in VIDEO_SUFFIXES:
        raise OutputError(f"{flag} {given!r} is named as a video", cure="end it in .json or .jsonl")
    if path.is_dir():
        raise OutputError(f"{flag} {given!r} is a folder", cure="name a file in it")
    exists(given)
    if not path.parent.is_dir():
        raise OutputError(
            f"the folder {str(path.parent)!r} of {flag} does not exist", cure="create it"
        )


def refuse_foreign(planned: Sequence[Planned], cure: str) -> None:
    """Raise OutputError where a job would write over a file of another kind."""
    for kind, begin in _BEGIN.items():
        for path in (getattr(one.job, kind) for one in planned):
            require_ours(f"--{kind}", path, begin, cure)


def require_ours(flag: str, path: str, begin: re.Pattern[bytes], cure: str) -> None:
    """Raise OutputError for a file with something in it that does not begin as ours do."""
    head = b""
    with suppress(OSError), Path(path).open("rb") as file:  # whoever writes it says what is wrong
        head = file.read(_HEAD_BYTES)
    if head and begin.match(head) is None:
        raise OutputError(f"{flag} {path!r} exists, and is no file of that kind", cure=cure)


def _below(job: JobSpec, folder: str, ending: str) -> str:
    """What a job's file is called: after its output, below a folder as the output is."""
    if job.output in ("", STDOUT) or is_url(job.output):
        return f"{'stream' if is_url(job.input) else Path(job.input).name}{ending}"
    output = Path(job.output)
    if folder and output.is_relative_to(folder):
        return f"{output.relative_to(folder)}{ending}"
    return f"{output.name}{ending}"
