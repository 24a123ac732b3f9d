"""`--keep` and `--only`: what they choose, and what of them cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from click.testing import Result
from commands import Command

Invoke = Callable[..., Result]


@pytest.fixture
def plan(invoke: Invoke, here: Path) -> Invoke:
    """A run, or a live one, that is only planned; there is a folder `known`."""
    Path("known").mkdir()
    Path("clip.mp4").write_bytes(b"not looked at")
    ends = {"run": ("-o", "out.mp4"), "live": ("-o", "udp://127.0.0.1:5000")}
    return lambda kind, *words: invoke(
        kind, "-i", "clip.mp4", *ends[kind], "--dry-run", "--json", *words
    )


@pytest.mark.parametrize(
    ("make", "says", "cure"),
    [
        (lambda path: path.touch(), "--keep 'anna' is a file", "a folder of its own"),
        (lambda path: None, "--keep: there is no folder 'anna'", "check the path"),
    ],
)
def test_what_is_no_folder_of_photos_is_told_in_words(
    plan: Invoke, make: Callable[[Path], None], says: str, cure: str
) -> None:
    make(Path("anna"))
    for kind in ("run", "live"):
        answer = plan(kind, "--keep", "anna")
        assert answer.exit_code == 2
        assert says in answer.stderr
        assert cure in answer.stderr


def settings(answer: Result) -> dict[str, Any]:
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


@pytest.mark.parametrize(
    ("kind", "preset", "people"),
    [
        ("run", "redact-except", "except"),
        ("run", "redact-only", "only"),
        ("live", "live-redact-except", "except"),
        ("live", "live-redact-only", "only"),
    ],
)
def test_the_preset_follows_from_the_flag(
    plan: Invoke, here: Path, kind: str, preset: str, people: str
) -> None:
    told = settings(plan(kind, "--keep" if people == "except" else "--only", "known"))
    assert told["preset"] == preset
    values = {key: told["values"][key]["value"] for key in ("embed.gallery", "redact.people")}
    assert values == {"embed.gallery": str(here / "known"), "redact.people": people}


def test_a_preset_of_ones_own_is_kept_and_told_whom_to_cover(plan: Invoke) -> None:
    Path("mine.yaml").write_text(
        "stages: [{stage: decode}, {stage: detect}, {stage: track}, {stage: embed, name: who},"
        " {stage: redact, name: hide}, {stage: encode}]\n"
    )
    told = settings(plan("run", "--preset", "mine.yaml", "--keep", "known"))
    assert told["preset"] == "mine.yaml"
    assert told["values"]["hide.people"]["value"] == "except"
    assert told["values"]["who.gallery"]["value"].endswith("known")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--keep", "known", "--only", "known"), "--keep and --only contradict each other"),
        (("--keep", "gone"), "gone"),
        (("--keep", "clip.mp4"), "clip.mp4"),
        (("--keep", "known", "--preset", "passthrough"), "no stage of preset 'passthrough'"),
    ],
)
def test_what_cannot_be_is_named(plan: Invoke, words: tuple[str, ...], says: str) -> None:
    for kind in ("run", "live"):
        answer = plan(kind, *words)
        assert answer.exit_code == 2, answer.output
        assert says in answer.stderr


def test_a_gallery_of_no_use_is_refused_before_any_frame(
    mpflow: Command, here: Path, short_clip: Path
) -> None:
    (here / "known").mkdir()
    cv2.imwrite(str(here / "known" / "wall.png"), np.full((200, 200, 3), 90, np.uint8))
    ran = mpflow("run", "-i", short_clip, "-o", "out.mp4", "--keep", "known")
    assert ran.code == 2
    assert "'wall.png' shows no face" in ran.err
    assert sorted(path.name for path in here.iterdir()) == ["known"]
