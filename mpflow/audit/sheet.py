"""The contact sheet of an audit: each finding's face in the input beside the same in the output.

+------------------ heading ------------------+
| RECOGNISABLE          |  VISIBLE            |
| [input]  [output]     |  [input]  [output]  |
| 0:03.40-0:03.57 ...   |  ...                |
| COVERED  (one of every track without a finding)

Exposures come first, then what is doubtful, what was kept, and what is covered. It shows faces as
they are in the input, so only its owner may read the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.accounts import counted
from mpflow.audit.conclusion import Result
from mpflow.audit.examination import SHOT_SIDE
from mpflow.audit.findings import Finding
from mpflow.audit.mark import marked
from mpflow.audit.report import AuditReport, TrackFacts
from mpflow.audit.subject import Shot
from mpflow.audit.verdicts import EXPOSED, Verdict
from mpflow.audit.words import clock, span
from mpflow.errors import OutputError

Picture = NDArray[np.uint8]
Ink = tuple[int, int, int]

MOST = 96
"""Pairs on one sheet; the report has all."""

_FEW, _MANY = 3, 5
_GAP, _HEADING, _TITLE, _CAPTION = 16, 84, 24, 44
_CELL = 2 * SHOT_SIDE + 4
_PAPER: Ink = (250, 249, 247)  # BGR, as all of these
_DARK: Ink = (40, 36, 32)
_FAINT: Ink = (120, 116, 112)
_RED: Ink = (40, 40, 190)
_AMBER: Ink = (20, 120, 200)
_GREEN: Ink = (70, 120, 40)


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair of pictures with its words."""

    title: str
    ink: Ink
    shot: Shot | None
    lines: tuple[str, str]


def write_sheet(result: Result, target: Path) -> None:
    """Write the sheet as a PNG that only its owner may read; raises OutputError."""
    whole, data = cv2.imencode(".png", draw(result))
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)  # of a file that was there already, too
            file.write(marked(data.tobytes()) if whole else b"")
    except OSError as error:
        raise OutputError(
            f"{str(target)!r} cannot be written: {error.strerror}", cure="choose another --sheet"
        ) from error


def draw(result: Result) -> Picture:
    """The sheet as BGR."""
    cells = list(_cells(result))
    shown = cells[:MOST]
    columns = _FEW if len(shown) <= _FEW * _FEW else _MANY
    rows = max(1, -(-len(shown) // columns))
    high = _TITLE + SHOT_SIDE + _CAPTION + _GAP
    sheet = np.empty((_HEADING + rows * high, columns * (_CELL + _GAP) + _GAP, 3), np.uint8)
    sheet[:] = _PAPER
    _write_heading(sheet, result.report, len(cells) - len(shown))
    for number, cell in enumerate(shown):
        row, column = divmod(number, columns)
        _draw_cell(sheet, cell, _GAP + column * (_CELL + _GAP), _HEADING + row * high)
    return sheet


def _cells(result: Result) -> Iterator[Cell]:
    for finding, shot in result.shots:
        yield _finding_cell(finding, shot)
    for track, shot in result.covers:
        yield _cover_cell(track, shot)


def _finding_cell(finding: Finding, shot: Shot | None) -> Cell:
    who = "no track" if finding.track is None else f"track {finding.track}"
    values = [f"score {finding.score:.2f}"] if finding.score else []
    values += [f"likeness {finding.likeness:.2f}"] if finding.likeness else []
    values += [f"detail {finding.detail:.2f}"] if finding.detail else []
    frames = f"{counted(finding.count, 'frame')}"
    return Cell(
        f"{finding.verdict.upper()}   {who}",
        _ink(finding.verdict),
        shot,
        (f"{span(finding.start, finding.end)}   {frames}", ", ".join(values)),
    )


def _cover_cell(track: TrackFacts, shot: Shot) -> Cell:
    likeness = f", likeness at most {track.likeness:.2f}" if track.looks else ""
    return Cell(
        f"{Verdict.COVERED.upper()}   track {track.track}",
        _GREEN,
        shot,
        (
            f"{span(track.start, track.end)}   {counted(track.frames, 'frame')}",
            f"shown: {clock(shot.time)}{likeness}",
        ),
    )


def _ink(verdict: Verdict) -> Ink:
    return _RED if verdict in EXPOSED else _AMBER if verdict is Verdict.DOUBTFUL else _DARK


def _draw_cell(sheet: Picture, cell: Cell, left: int, top: int) -> None:
    _write(sheet, cell.title, (left, top + _TITLE - 8), 0.5, cell.ink)
    below = top + _TITLE
    pictures: Sequence[Picture | None] = (
        (None, None) if cell.shot is None else (cell.shot.before, cell.shot.after)
    )
    for number, picture in enumerate(pictures):
        x = left + number * (SHOT_SIDE + 4)
        if picture is None:
            cv2.rectangle(sheet, (x, below), (x + SHOT_SIDE, below + SHOT_SIDE), _FAINT, 1)
        else:
            sheet[below : below + SHOT_SIDE, x : x + SHOT_SIDE] = picture
    for number, line in enumerate(cell.lines):
        ink = _FAINT if number else _DARK
        _write(sheet, line, (left, below + SHOT_SIDE + 17 + 18 * number), 0.42, ink)


def _write_heading(sheet: Picture, report: AuditReport, left_out: int) -> None:
    found = counted(len(report.findings), "exposure")
    title = f"{found}: see below" if report.findings else "no exposure found"
    _write(sheet, title, (_GAP, 34), 0.8, _RED if report.findings else _GREEN)
    files = f"input {report.input.sha256[:16]}   output {report.output.sha256[:16]}   {report.made}"
    _write(sheet, files, (_GAP, 56), 0.42, _FAINT)
    more = f"; {left_out} more are in the report" if left_out else ""
    _write(sheet, f"each pair: input, output{more}", (_GAP, 74), 0.42, _FAINT)


def _write(sheet: Picture, text: str, place: tuple[int, int], scale: float, ink: Ink) -> None:
    cv2.putText(sheet, text, place, cv2.FONT_HERSHEY_SIMPLEX, scale, ink, 1, cv2.LINE_AA)
