"""The contact sheet: every finding a pair of pictures, and readable by its owner only."""

from __future__ import annotations

import stat
from pathlib import Path

import cv2
import numpy as np
import pytest
from audited import finding, report

from mpflow.audit.conclusion import Result
from mpflow.audit.examination import SHOT_SIDE
from mpflow.audit.mark import SHEET_BEGINS
from mpflow.audit.sheet import MOST, draw, write_sheet
from mpflow.audit.subject import Shot
from mpflow.audit.verdicts import Verdict
from mpflow.errors import OutputError

BEFORE, AFTER = (30, 60, 90), (90, 30, 60)


def shot(*, alone: bool = False) -> Shot:
    before = np.full((SHOT_SIDE, SHOT_SIDE, 3), BEFORE, np.uint8)
    return Shot(0.1, None if alone else before, np.full_like(before, AFTER))


def pixels(sheet: np.ndarray, colour: tuple[int, int, int]) -> int:
    return int((sheet == np.array(colour)).all(axis=2).sum())


def result(*shots: Shot | None, covers: int = 0) -> Result:
    findings = tuple(finding([number]) for number in range(len(shots)))
    made = report(findings=findings)
    return Result(
        made,
        tuple(zip(findings, shots, strict=True)),
        tuple((made.tracks[0], shot()) for _ in range(covers)),
    )


def test_every_finding_and_every_covered_track_is_shown_before_and_after() -> None:
    sheet = draw(result(shot(), shot(), covers=2))
    assert pixels(sheet, BEFORE) == pixels(sheet, AFTER) == 4 * SHOT_SIDE**2


def test_a_face_without_a_picture_of_the_input_or_without_any_is_shown_as_far_as_it_goes() -> None:
    sheet = draw(result(shot(alone=True), None))
    assert pixels(sheet, BEFORE) == 0
    assert pixels(sheet, AFTER) == SHOT_SIDE**2


def test_an_audit_without_any_face_has_a_sheet_too() -> None:
    assert draw(result()).shape[2] == 3


def test_a_sheet_has_an_end() -> None:
    many = draw(result(*[shot()] * (MOST + 5)))
    assert pixels(many, AFTER) == MOST * SHOT_SIDE**2


def test_the_file_is_a_png_that_only_its_owner_reads_even_where_one_was(tmp_path: Path) -> None:
    path = tmp_path / "sheet.png"
    path.touch(0o644)
    write_sheet(result(shot()), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    read = cv2.imread(str(path))
    assert read is not None
    np.testing.assert_array_equal(read, draw(result(shot())))


def test_a_sheet_may_take_the_place_of_a_sheet_and_of_no_other_picture(tmp_path: Path) -> None:
    sheet, photo = tmp_path / "sheet.png", tmp_path / "anna.png"
    write_sheet(result(shot()), sheet)
    cv2.imwrite(str(photo), draw(result(shot())))
    assert SHEET_BEGINS.match(sheet.read_bytes())
    assert not SHEET_BEGINS.match(photo.read_bytes())
    assert (cv2.imread(str(sheet)) == cv2.imread(str(photo))).all()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nowhere"):
        write_sheet(result(), tmp_path / "nowhere" / "sheet.png")


def test_verdicts_that_are_no_failure_are_no_exposure_in_the_heading() -> None:
    doubtful = finding([1], Verdict.DOUBTFUL, None)
    sheet = draw(Result(report(doubtful=(doubtful,)), ((doubtful, shot()),), ()))
    assert pixels(sheet, (40, 40, 190)) == 0, "nothing is written in red"
