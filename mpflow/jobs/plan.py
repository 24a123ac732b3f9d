"""From inputs, an output and the rule for existing files to jobs that cannot hurt each other.

What a user can get wrong is found here, before a process is started: an output that is an input
(by whatever name), two jobs that write one path, a file that must not be overwritten. What only
concerns one input, a missing file for example, stays with that input, so that the others run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from mpflow.config import load_preset
from mpflow.errors import ConfigError, OutputError
from mpflow.importer import stage_class, target_of
from mpflow.jobs.conflicts import Confirm, Planned, check_apart, settle_existing
from mpflow.jobs.discover import VIDEO_SUFFIXES, Found, discover
from mpflow.jobs.naming import Product, below, beside
from mpflow.jobs.sidecar import require_sidecar_ours, with_sidecar
from mpflow.jobs.sidefiles import refuse_foreign, with_side_files
from mpflow.presets import bare_name
from mpflow.spec import STDOUT, JobSpec, Overwrite, partial_name, parts_name
from mpflow.urls import is_url

_REDACTING = ("redact", "redact-except", "redact-only", "redact-mesh")
_SWAPPING = ("swap", "swap-hq")
_WORDS = {
    **dict.fromkeys(_REDACTING, "redacted"),
    **dict.fromkeys(_SWAPPING, "swapped"),
    "detect-only": "faces",
}


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for.

    ``overwrite``: ``yes`` replaces an output that exists, ``no`` skips that job, ``ask`` asks a
    person. ``recursive`` looks into the folders below an input folder too. ``start``, ``stop`` and
    ``resume`` are for every job, as in JobSpec. ``tokens`` and ``trace`` are a file, or a folder
    that gets one for each job; ``sidecar`` gives each output one; ``written`` are files that the
    run writes besides.
    """

    inputs: Sequence[str]
    output: str = ""
    preset: str = "redact"
    overwrite: Overwrite = "ask"
    recursive: bool = False
    start: int = 0
    stop: int | None = None
    resume: bool = False
    tokens: str = ""
    trace: str = ""
    sidecar: bool = False
    written: Sequence[str] = ()


def plan_jobs(
    inputs: Sequence[str], output: str, *, preset: str, overwrite: bool = False
) -> tuple[JobSpec, ...]:
    """The jobs of a run, for a program; raises the first error, whichever input it is about."""
    return jobs_of(Request(inputs, output, preset, "yes" if overwrite else "ask"))


def jobs_of(request: Request) -> tuple[JobSpec, ...]:
    """The jobs of a request; raises the first error, whichever input it is about."""
    plan = draw_plan(request)
    for planned in plan:
        if planned.error is not None:
            raise planned.error
    return tuple(planned.job for planned in plan)


def draw_plan(request: Request, confirm: Confirm | None = None) -> tuple[Planned, ...]:
    """Plan a run; touches nothing.

    ``confirm`` is called for each output that exists under ``ask``; without it that is an error.
    Raises OutputError for an output that would hurt an input or another job, and ConfigError for
    an unknown preset.
    """
    product = product_of(request.preset)
    found = discover(request.inputs, recursive=request.recursive, own_words=[product.word])
    if not found:
        raise ConfigError("there is no input", cure="give one with -i")
    outputs = _outputs(found, request, product)
    folder = request.output if _means_folder(request.inputs, found, request.output, product) else ""
    planned = [
        _planned(number, one, target, request)
        for number, (one, target) in enumerate(zip(found, outputs, strict=True), 1)
    ]
    for kind in ("tokens", "trace"):
        planned = with_side_files(planned, kind, getattr(request, kind), folder)
    if request.sidecar:
        planned = [replace(one, job=with_sidecar(one.job)) for one in planned]
    check_apart(planned, request.written)
    if request.overwrite != "yes":
        refuse_foreign(planned, "choose another name; -y overwrites it")
        for one in planned:
            require_sidecar_ours(one.job)
    return tuple(settle_existing(planned, request.overwrite, confirm))


def product_of(preset: str) -> Product:
    """What a preset makes; raises ConfigError for an unknown one.

    A sink says by its class attribute ``suffix`` what its output's name ends in; without one it
    keeps the input's ending.
    """
    sink = stage_class(target_of(load_preset(preset).stages[-1].stage))
    name = bare_name(preset)
    word = _WORDS.get(name, Path(name).stem)
    return Product(word, getattr(sink, "suffix", ""), getattr(sink, "within", ""))


def _outputs(found: Sequence[Found], request: Request, product: Product) -> list[Path | None]:
    """Where each input's result goes; None for standard output and for what has an error."""
    output = request.output
    good = [one for one in found if one.error is None]
    targets: Iterable[Path | None]
    if output == STDOUT:
        _require_stream(found, product)
        targets = [None] * len(good)
    elif is_url(output):
        raise OutputError("an output cannot be a URL", cure="write a file and upload it")
    elif not output:
        targets = [_beside(one, product) for one in good]
    elif not good:
        targets = []  # their own errors say more than one about the output
    elif _means_folder(request.inputs, found, output, product):
        targets = below(_folder(output, product), good, product)
    elif product.within:
        targets = [_folder(output, product) / product.within]
    else:
        targets = [_file(Path(output), product)]
    one_each = iter(targets)
    return [None if one.error is not None else next(one_each) for one in found]


def _require_stream(found: Sequence[Found], product: Product) -> None:
    if product.within:
        raise OutputError(
            f"{product.word} are written to a folder, not to standard output",
            cure="name one with -o; it is made if it is missing",
        )
    if not product.suffix:
        raise OutputError(
            "a video cannot be written to standard output", cure="give a file with -o"
        )
    if len(found) > 1:
        raise OutputError(
            "several inputs cannot share standard output", cure="give a folder with -o"
        )


def _means_folder(
    inputs: Sequence[str], found: Sequence[Found], output: str, product: Product
) -> bool:
    """Whether the output is a folder for one result of each input."""
    several = len(inputs) > 1 or len(found) > 1 or Path(inputs[0]).is_dir()
    if product.within:
        return several
    return several or output.endswith(os.sep) or Path(output).is_dir()


def _folder(output: str, product: Product) -> Path:
    """An output named as a folder; one that is to be made should not look like a file."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        why = f"{product.word} need" if product.within else "several inputs need"
        raise OutputError(
            f"{output!r} is a file, but {why} a folder",
            cure="give a folder with -o; it is made if it is missing",
        )
    looks_like_file = folder.suffix.lower() in {*VIDEO_SUFFIXES, product.suffix} - {""}
    if looks_like_file and not folder.exists() and not output.endswith(os.sep):
        raise OutputError(
            f"{output!r} would be a folder"
            + ("" if product.within else ", since the input may be several files"),
            cure=f"end it in /, as in {output}/, or give a folder's name without an ending",
        )
    return folder


def _beside(found: Found, product: Product) -> Path:
    if is_url(found.path):
        raise OutputError("the result of a URL has no place of its own", cure="give -o")
    return beside(found, product)


def _file(output: Path, product: Product) -> Path:
    """An output named as a file; a symbolic link stands for what it points to."""
    if output.is_symlink():
        output = Path(os.path.realpath(output))
    if not output.suffix and not product.suffix:
        raise OutputError(
            f"{str(output)!r} does not say which container to write",
            cure=f"add an ending, for example {output.name}.mp4",
        )
    if product.suffix and output.suffix.lower() in VIDEO_SUFFIXES - {product.suffix}:
        raise OutputError(
            f"{str(output)!r} would be {product.suffix.lstrip('.')}, not a video",
            cure=f"name it {output.with_suffix(product.suffix).name}",
        )
    if not output.parent.is_dir():
        raise OutputError(
            f"the folder {str(output.parent)!r} of the output does not exist", cure="create it"
        )
    return output


def _planned(number: int, found: Found, target: Path | None, request: Request) -> Planned:
    job = JobSpec(str(number), found.path, start=request.start, stop=request.stop)
    if found.error is not None:
        return Planned(job, found.error)
    if target is None:
        stdout = f"/proc/{os.getpid()}/fd/1"
        return Planned(msgspec.structs.replace(job, output=STDOUT, partial=stdout))
    try:
        str(target).encode()
    except UnicodeEncodeError as error:
        raise OutputError(f"the name of {str(target)!r} is not UTF-8") from error
    return Planned(
        msgspec.structs.replace(
            job,
            output=str(target),
            partial=str(partial_name(target)),
            parts=str(parts_name(target)),
            resume=request.resume,
        )
    )
