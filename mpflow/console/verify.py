"""``mpflow verify``: what a video says of itself, told in lines or as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mpflow.accounts import counted

if TYPE_CHECKING:
    from mpflow.jobs.agreement import Sidecar
    from mpflow.jobs.verify import Verification
    from mpflow.provenance.declared import Declared
    from mpflow.provenance.reading import Found


EXIT_CODES = """\b
Exit status:
  0   marked, and its marks agree
  3   it is missing, or no video
  8   no mark was found
  9   its marks contradict each other
"""


def show_verification(path: Path, *, as_json: bool) -> int:
    """Read the marks of a video, tell of them, and return the exit status."""
    from mpflow.jobs.verify import verify

    found = verify(path)
    if as_json:
        click.echo(json.dumps({"event": "verify", **found.as_data()}, ensure_ascii=False))
    else:
        click.echo("\n".join(verification_lines(found)))
    return found.exit_status


def verification_lines(found: Verification) -> Iterator[str]:
    """All that was found, and what comes of it."""
    yield found.path
    yield from _declared(found.declared)
    yield from _sidecar(found.sidecar)
    yield f"  invisible mark: {_mark(found.mark)}"
    yield from (f"  note: {remark}" for remark in found.remarks)
    yield from (f"  CONTRADICTION: {each}" for each in found.contradictions)
    yield f"{found.verdict}{': ' if found.says else ''}{', '.join(found.says)}"


def _declared(declared: Declared) -> Iterator[str]:
    yield f"  comment: {declared.comment or 'none'}"
    yield f"  digital source type: {', '.join(declared.types) or 'none'}"
    if not declared.labels:
        yield "  GB 45438 label: none"
    for label in declared.labels:
        yield f"  GB 45438 label: {label.label}, by {label.producer!r}, id {label.produce_id}"
    if declared.packet_source_type or declared.packet_label:
        yield "  XMP: says so too"


def _sidecar(sidecar: Sidecar | None) -> Iterator[str]:
    if sidecar is None:
        yield "  sidecar: none"
        return
    of = "of this very file" if sidecar.is_about_file else "of ANOTHER file"
    yield f"  sidecar: {sidecar.what or 'unreadable'}, {of}"
    if sidecar.operations:
        yield f"    by mpflow {sidecar.mpflow}, {sidecar.time}"
        yield f"    stages: {', '.join(each.stage for each in sidecar.operations)}"
    for model in sidecar.models:
        name = model.model or "somebody's own"
        of = f"sha256 {model.sha256}" if model.sha256 else "no file"
        yield f"    {model.stage}: {name}, {of}"


def _mark(mark: Found | None) -> str:
    if mark is None:
        return "none"
    kind = f"faces {mark.kind}" if mark.kind else "no kind"
    return (
        f"{kind}, run {mark.run_id:04x}, {mark.confidence:.1f} times the least that counts, over"
        f" {counted(mark.frames, 'frame')}"
    )
