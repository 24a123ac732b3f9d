"""What does not go together between two files, and what a sidecar says, are told in sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audited import FILE, OUTPUT

from mpflow.audit.claims import Claims, claims_of
from mpflow.audit.order import Order
from mpflow.audit.remarks import Seen, remarks
from mpflow.audit.report import Timing
from mpflow.audit.wish import Wish
from mpflow.models.fetch import sha256_of
from mpflow.spans import Spans

WISH = Wish(Path("in.mp4"), Path("out.mp4"))
FITS = Timing(50, 0, 0)


def said(claims: Claims | None = None, wish: Wish = WISH, **values: Any) -> str:
    given = {"source": FILE, "target": OUTPUT, "timing": FITS, "tracks": 1, **values}
    return "\n".join(remarks(Seen(**given, wish=wish, claims=claims)))


def replace(value: Any, **values: Any) -> Any:
    return msgspec.structs.replace(value, **values)


def test_an_input_that_is_redacted_itself_may_have_been_swapped() -> None:
    source = replace(FILE, redacted=True)
    assert "are input and output swapped?" in said(source=source)
    made_of_it = Claims(1, input=msgspec.convert({"sha256": FILE.sha256}, type(Claims(1).input)))
    assert "swapped" not in said(made_of_it, source=source)
    assert "swapped" not in said(target=replace(OUTPUT, redacted=True))


@pytest.mark.parametrize("order", [Order.IN_ORDER, Order.UNKNOWN])
def test_files_that_go_together_are_not_remarked_on(order: Order) -> None:
    assert said() == ""
    assert said(timing=replace(FITS, order=order)) == ""


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"target": replace(OUTPUT, sha256=FILE.sha256)}, "the same file"),
        ({"target": replace(OUTPUT, width=80, height=60)}, "80x60, the input's 160x120"),
        ({"target": replace(OUTPUT, damaged=3)}, "3 packets or frames of the output"),
        ({"source": replace(FILE, damaged=1)}, "1 packet or frames of the input"),
        ({"target": replace(OUTPUT, beside=2)}, "2 picture streams more"),
        ({"timing": Timing(50, 0, 0, -3.0)}, "begins 3.000 s earlier"),
        ({"timing": Timing(50, 4, 0)}, "4 frames of the input: the output has none"),
        ({"timing": Timing(50, 0, 1)}, "1 frame of the output: the input has none"),
        ({"timing": Timing(50, 4, 0, tail=4)}, "too little moves to tell which ones"),
        ({"timing": Timing(50, 4, 0, -1.0)}, "too little moves to tell which ones"),
        ({"timing": Timing(50, 0, 0, order=Order.SHIFTED, lag=-4)}, "4 frames later, not those at"),
        ({"timing": Timing(50, 0, 0, order=Order.SHIFTED, lag=-4)}, "--frames 4- goes by that"),
        ({"timing": Timing(50, 0, 0, order=Order.SHIFTED, lag=1)}, "input's 1 frame earlier"),
        ({"timing": Timing(50, 0, 0, order=Order.UNRELATED)}, "is it made of it?"),
        ({"tracks": 0}, "no face was found in the input"),
    ],
)
def test_what_does_not_go_together_is_told(values: dict[str, Any], words: str) -> None:
    assert words in said(**values)


def claims(**values: Any) -> Claims:
    about = {"input": {"sha256": FILE.sha256}, "output": {"sha256": OUTPUT.sha256}}
    return msgspec.convert({"mpflow_sidecar": 1, **about, **values}, Claims)


def operation(stage: str, **options: Any) -> dict[str, Any]:
    return {"operations": [{"stage": stage, "options": options}]}


@pytest.mark.parametrize(
    ("claimed", "words"),
    [
        ({"output": {"sha256": "d" * 64}}, "is about another file"),
        ({"input": {"sha256": "d" * 64}}, "made from another input"),
        (operation("detect", model="centerface"), "what it missed, it may miss again"),
        (operation("redact", spans="f1-f9"), "--spans f1-f9 allows for that"),
        (operation("redact", method="image"), "--replaced allows for it"),
        (operation("redact", people="except"), "--keep DIR allows for that"),
        (operation("redact", people="only"), "--only DIR allows for that"),
        (
            {"changed": [{"stage": "detect", "option": "score", "value": 0.99, "frames": 585}]},
            "with other options for a while: detect.score=0.99 in 585 frames",
        ),
        ({"changed": [{"stage": "track", "left_out": True, "frames": 1}]}, "without track in 1"),
        ({"frames": {"passed": 2}}, "2 frames on which a stage failed"),
    ],
)
def test_a_sidecar_that_does_not_fit_or_matters_is_told_of(
    claimed: dict[str, Any], words: str
) -> None:
    assert words in said(claims(**claimed))


def test_a_look_that_is_less_close_than_those_of_runs_is_told() -> None:
    large = replace(FILE, width=1920, height=1080)
    files = {"source": large, "target": replace(OUTPUT, width=1920, height=1080)}
    small, whole = Wish(Path(), Path(), size="640x384"), Wish(Path(), Path(), size="960x544")
    assert "--size 640x384 is smaller than" in said(wish=small, **files)
    assert said(wish=whole, **files) == ""
    closer = claims(**operation("detect", size="auto", side=1280))
    assert "--size 1280x736 looks as closely" in said(closer, **files)
    assert said(closer) == "", "a small picture is no larger for that"
    assert said(claims(**operation("detect", size="1x1", side=1280)), **files) == ""


def test_a_sidecar_that_fits_is_not_remarked_on() -> None:
    assert said(claims(**operation("detect", model="yunet"))) == ""
    spans = Wish(Path("in.mp4"), Path("out.mp4"), spans=Spans.parse("f1-f9"))
    assert said(claims(**operation("redact", spans="f1-f9")), spans) == ""


def test_a_part_of_the_input_is_told_of() -> None:
    part = Wish(Path("in.mp4"), Path("out.mp4"), start=10, stop=20)
    assert "a part of the input" in said(claims(frames={"start": 10, "stop": 20}), part)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mpflow_sidecar": "x"}'])
def test_what_is_no_sidecar_is_passed_over(tmp_path: Path, text: str) -> None:
    output = tmp_path / "out.mp4"
    output.touch()
    assert claims_of(output) is None
    assert claims_of(Path()) is None
    (tmp_path / "out.mp4.mpflow.json").write_text(text)
    assert claims_of(output) is None


def test_a_range_is_believed_only_of_a_sidecar_about_these_very_files(tmp_path: Path) -> None:
    source, target = tmp_path / "in.mp4", tmp_path / "out.mp4"
    source.write_bytes(b"input")
    target.write_bytes(b"output")
    one, other = ({"sha256": sha256_of(path)} for path in (source, target))
    part = {"start": 10, "stop": 20}
    for files, believed in [
        ({"input": one, "output": other}, (10, 20)),
        ({"input": {}, "output": other}, (10, 20)),  # it came from a stream
        ({"input": one, "output": one}, (0, None)),
        ({"input": other, "output": other}, (0, None)),
        ({"input": one, "output": {}}, (0, None)),
    ]:
        assert claims(frames=part, **files).range_of(source, target) == believed


def test_a_sidecar_is_read_from_beside_the_output(tmp_path: Path) -> None:
    data = {"mpflow_sidecar": 1, "frames": {"start": 3, "stop": 9}, "more": [1]}
    (tmp_path / "out.mp4.mpflow.json").write_text(json.dumps(data))
    (tmp_path / "out.mp4").touch()
    found = claims_of(tmp_path / "out.mp4")
    assert found is not None
    assert (found.frames.start, found.frames.stop) == (3, 9)
