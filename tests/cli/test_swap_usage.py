"""`--source`, `--map` and `--others`: what they choose, what of them cannot be, and the notice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mpflow.config import resolve
from mpflow.console import notice

Invoke = Callable[..., Result]
KINDS = {"run": ("swap", "decode"), "live": ("live-swap", "receive")}


@pytest.fixture
def plan(invoke: Invoke, here: Path) -> Invoke:
    """A run, or a live one, that is only planned; there are photos, which nobody looks at."""
    for name in ("clip.mp4", "a.jpg", "b.jpg", "anna.jpg", "bea.jpg", "gfpgan.yaml"):
        Path(name).write_bytes(b"not looked at")
    ends = {"run": (), "live": ("-o", "udp://127.0.0.1:5000")}
    return lambda kind, *words: invoke(
        kind, "-i", "clip.mp4", *ends[kind], "--dry-run", "--json", *words
    )


def planned(answer: Result) -> dict[str, Any]:
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def value(data: dict[str, Any], key: str) -> Any:
    return data["values"][key]["value"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_takes_the_preset_that_swaps_every_face(
    plan: Invoke, here: Path, kind: str
) -> None:
    data = planned(plan(kind, "--source", "a.jpg", "--source", "b.jpg"))
    assert data["preset"] == KINDS[kind][0]
    assert value(data, "swap.sources") == [f"{here}/a.jpg", f"{here}/b.jpg"]
    assert {"swap", "blend"} < set(data["stages"])
    assert not {"embed", "enhance", "redact"} & set(data["stages"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_takes_who_is_who_and_covers_everybody_else(
    plan: Invoke, here: Path, kind: str
) -> None:
    data = planned(plan(kind, "--map", "anna.jpg=a.jpg", "--map", "bea.jpg=b.jpg"))
    assert data["preset"] == f"{KINDS[kind][0]}+embed+redact"
    assert value(data, "swap.map") == [
        f"{here}/anna.jpg={here}/a.jpg",
        f"{here}/bea.jpg={here}/b.jpg",
    ]
    assert value(data, "embed.photos") == [f"{here}/anna.jpg", f"{here}/bea.jpg"]
    assert value(data, "redact.people") == "unswapped"
    stages = data["stages"]
    assert stages.index("embed") < stages.index("swap") < stages.index("blend")
    assert stages.index("blend") < stages.index("redact")


def test_others_and_enhance_say_what_else_is_taken(plan: Invoke, here: Path) -> None:
    others = {
        ("--map", "anna.jpg=a.jpg", "--others", "keep"): "swap+embed",
        ("--source", "a.jpg", "--others", "redact"): "swap+redact",
        ("--source", "a.jpg", "--enhance", "gfpgan.yaml"): "swap+enhance",
        ("--source", "a.jpg", "--preset", "swap-hq", "--others", "redact"): "swap-hq+redact",
    }
    for words, preset in others.items():
        data = planned(plan("run", *words))
        assert data["preset"] == preset
        if "enhance" in preset:
            assert value(data, "enhance.model") == f"{here}/gfpgan.yaml"


def test_an_output_without_a_name_says_that_it_was_swapped(plan: Invoke) -> None:
    for words in (("--source", "a.jpg"), ("--map", "anna.jpg=a.jpg"), ("--preset", "swap-hq")):
        (job,) = planned(plan("run", *words))["jobs"]
        assert Path(job["output"]).name == "clip.swapped.mp4"


def test_a_redaction_beside_a_swap_takes_the_flags_of_covers(plan: Invoke) -> None:
    data = planned(plan("run", "--map", "anna.jpg=a.jpg", "--method", "mosaic"))
    assert value(data, "redact.method") == "mosaic"
    answer = plan("run", "--source", "a.jpg", "--method", "mosaic")
    assert answer.exit_code == 2
    assert "no stage of preset 'swap' covers faces" in answer.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--source", "gone.jpg"), "--source: 'gone.jpg' does not exist"),
        (("--source", "."), "--source: '.' is a folder"),
        (("--map", "anna.jpg"), "the map 'anna.jpg' is not REFERENCE=SOURCE"),
        (("--map", "gone.jpg=a.jpg"), "--map: 'gone.jpg' does not exist"),
        (("--map", "anna.jpg=gone.jpg"), "--map: 'gone.jpg' does not exist"),
        (("--source", "a.jpg", "--map", "anna.jpg=a.jpg"), "contradict each other"),
        (("--source", "a.jpg", "--keep", "."), "contradict --keep and --only"),
        (("--source", "a.jpg", "--preset", "redact"), ""),
        (("--others", "redact"), "--others is about faces that get no other"),
        (("--map", "anna.jpg=a.jpg", "--preset", "passthrough"), "has no stage 'embed'"),
        (("--source", "a.jpg", "--preset", "passthrough"), "has an option for --source"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(
    plan: Invoke, words: tuple[str, ...], says: str
) -> None:
    answer = plan("run", *words)
    if not says:  # the default preset by name is the default preset
        assert planned(answer)["preset"] == "swap"
        return
    assert answer.exit_code == 2
    assert says in answer.stderr.replace("\n", " ")


def test_the_notice_is_printed_once_and_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    swap, redact = resolve("swap", environ={}), resolve("redact", environ={})

    def told(*, accepted: bool = False, resolved: Any = swap) -> str:
        notice.tell_once(resolved, accepted=accepted)
        return capsys.readouterr().err

    assert told(resolved=redact) == ""
    first = told()
    for word in ("mpflow verify", "must have agreed", "--accept-notice"):
        assert word in first
    assert told() == ""


def test_who_has_accepted_the_notice_never_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for accepted in (True, False):
        notice.tell_once(resolve("live-swap", environ={}), accepted=accepted)
    assert capsys.readouterr().err == ""


def test_a_node_that_can_keep_nothing_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    notice.tell_once(resolve("swap", environ={}), accepted=False)
    assert "this run makes faces" in capsys.readouterr().err
