"""``mpflow run IN OUT``: the -o that was forgotten is told before any work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Invoke = Callable[..., Result]


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    for name in ("in.mp4", "two.mp4", "my-out.mp4", "done.mp4", "done.mp4.mpflow.json"):
        (here / name).touch()
    (here / "films").mkdir()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("in.mp4", "new.mp4"), "'new.mp4' would be one more input, and there is no such file"),
        (("in.mp4", "two.mp4", "covered/"), "there is no such file"),
        (("in.mp4", "my-out.mp4"), "'my-out.mp4' would be one more input, and it is"),
        (("in.mp4", "done.mp4"), "it is, or is called like, a result"),
    ],
)
@pytest.mark.parametrize("command", ["run", "faces"])
def test_a_last_name_that_must_be_the_output_is_refused_with_the_flag_for_it(
    invoke: Invoke, command: str, words: tuple[str, ...], says: str
) -> None:
    answer = invoke(command, *words, "--dry-run")
    assert answer.exit_code == 2
    assert says in answer.stderr
    assert f"-o {words[-1]}" in answer.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("in.mp4", "two.mp4"),
        ("my-out.mp4",),
        ("in.mp4", "films"),
        ("-i", "in.mp4", "-i", "my-out.mp4"),
        ("in.mp4", "my-out.mp4", "-o", "films"),
        ("in.mp4", "rtsp://camera/out"),
        ("in.mp4", "outdoors.mp4"),
    ],
)
def test_inputs_that_may_be_meant_are_taken(
    invoke: Invoke, here: Path, words: tuple[str, ...]
) -> None:
    (here / "outdoors.mp4").touch()
    assert "would be one more input" not in invoke("run", *words, "--dry-run").output
