"""What the command line answers without starting a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from click.testing import Result

from mpflow import __version__
from mpflow.config import preset_names
from mpflow.models.store import ModelStore

Invoke = Callable[..., Result]


COMMANDS = ["run", "live", "top", "ctl", "demo", "models", "presets", "doctor", "clean"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_text(invoke: Invoke, command: str) -> None:
    answer = invoke(command, "--help")
    assert answer.exit_code == 0
    assert "Usage:" in answer.output


@pytest.mark.parametrize("command", ["run", "live"])
def test_help_of_a_run_lists_every_exit_status(invoke: Invoke, command: str) -> None:
    text = invoke(command, "--help").output
    table = text[text.index("Exit status:") :]
    listed = [int(word) for word in table.split() if word.isdigit()]
    assert listed == [0, 1, 2, 3, 4, 5, 6, 130, 143, 141]


def test_version_is_the_packages(invoke: Invoke) -> None:
    assert invoke("--version").output == f"mpflow, version {__version__}\n"


def test_dry_run_shows_jobs_and_origins_and_touches_nothing(invoke: Invoke, here: Path) -> None:
    Path("in.mp4").write_bytes(b"not looked at")
    answer = invoke("run", "in.mp4", "-o", "new/", "--crf", "23", "--dry-run")
    assert answer.exit_code == 0
    assert answer.output.splitlines()[0] == "in.mp4 -> new/in.mp4"
    (line,) = [line for line in answer.output.splitlines() if line.startswith("encode.crf ")]
    assert line.split() == ["encode.crf", "=", "23.0", "#", "flag", "--crf"]
    assert [path.name for path in here.iterdir()] == ["in.mp4"]


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_wrong_value_is_told_before_an_output_that_exists(
    invoke: Invoke, here: Path, dry: list[str]
) -> None:
    for name in ("in.mp4", "out.mp4"):
        Path(name).write_bytes(b"not looked at")
    words = ["run", "in.mp4", "-o", "out.mp4", *dry]
    assert "exists already" in invoke(*words).stderr
    answer = invoke(*words, "--set", "detect.scoore=1")
    assert answer.exit_code == 2
    assert "detect.scoore" in answer.stderr


def test_dry_run_as_json_holds_the_same(invoke: Invoke, here: Path) -> None:
    Path("in.mp4").write_bytes(b"not looked at")
    data = json.loads(invoke("run", "in.mp4", "--device", "cpu", "--dry-run", "--json").stdout)
    assert data["values"]["detect.device"] == {"value": "cpu", "origin": "flag --device"}
    assert data["jobs"][0]["partial"] == "in.redacted.partial.mp4"


def test_presets_show_says_where_each_value_came_from(
    invoke: Invoke, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("mine.yaml").write_text("detect:\n  workers: 2\n  size: 320x320\n  score: 0.5\n")
    monkeypatch.setenv("MPFLOW_DETECT__SIZE", "320x192")
    monkeypatch.setenv("MPFLOW_CONFIG", "mine.yaml")
    answer = invoke("presets", "show", "redact", "--json", "--set", "detect.score=0.7")
    values = json.loads(answer.stdout)["values"]
    assert values["detect.workers"] == {"value": 2, "origin": "file mine.yaml"}
    assert values["detect.size"]["origin"] == "environment MPFLOW_DETECT__SIZE"
    assert values["detect.score"] == {"value": 0.7, "origin": "--set detect.score"}
    assert values["encode.keep_metadata"] == {"value": False, "origin": "privacy of redact"}
    assert values["encode.codec"]["origin"] == "default"


def test_presets_list_names_every_preset_with_its_purpose(invoke: Invoke) -> None:
    lines = invoke("presets", "list").output.splitlines()
    names = [line.split()[0] for line in lines]
    assert names == preset_names()
    assert {"redact", "live-redact", "detect-only", "passthrough"} < set(names)
    assert all(len(line.split()) > 3 for line in lines)


def test_preset_comes_from_the_environment(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPFLOW_PRESET", "passthrough")
    assert invoke("presets", "show").output.startswith("# preset passthrough")


def test_models_list_knows_what_is_in_the_cache(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPFLOW_CACHE", str(tmp_path))
    lines = invoke("models", "list", "--json").stdout.splitlines()
    items = {item["name"]: item for item in map(json.loads, lines)}
    assert items["yunet"]["condition"] == "missing"
    assert items["yunet"]["default"]
    assert "yunet" in invoke("models", "list").output


def test_offline_says_which_command_fetches_what_is_missing(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPFLOW_CACHE", str(tmp_path))
    for words in (["path", "yunet"], ["pull"]):
        answer = invoke("models", *words, "--offline")
        assert answer.exit_code == 2
        assert "mpflow models pull yunet" in answer.stderr


USED = {"yunet", "sface", "facemesh", "centerface"}


@pytest.mark.parametrize(
    ("words", "fetched"),
    [
        ([], USED),  # that of an audit too
        (["--all"], USED | {"esrgan-slim-x2", "esrgan-slim-x4"}),
    ],
)
def test_pull_without_names_takes_what_mpflow_uses_and_all_means_no_media(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, words: list[str], fetched: set[str]
) -> None:
    def pull(self: ModelStore, names: Iterable[str], progress: object) -> dict[str, Path]:
        return {name: Path(f"{name}.onnx") for name in names}

    monkeypatch.setattr(ModelStore, "pull", pull)
    lines = invoke("models", "pull", *words).stdout.splitlines()
    assert sorted(lines) == sorted(f"{name}  {name}.onnx" for name in fetched)


def test_keys_explains_every_key_of_every_stage(invoke: Invoke) -> None:
    answer = invoke("presets", "keys")
    assert answer.exit_code == 0
    keys = [line.split()[0] for line in answer.output.splitlines() if " = " in line]
    shown = json.loads(invoke("presets", "show", "redact", "--json").stdout)["values"]
    # a source, a sink and a stage that keeps the order have one worker
    only_once = {"decode.workers", "encode.workers", "track.workers"}
    assert set(shown) - only_once <= set(keys)
    assert len(keys) == len(set(keys))
    assert "mosaic cells along the longer" in answer.output
    (stall,) = [line for line in answer.output.splitlines() if line.startswith("stall ")]
    assert stall.split()[:3] == ["stall", "=", "60.0"]


def test_keys_of_one_stage_says_what_each_takes(invoke: Invoke) -> None:
    lines = invoke("presets", "keys", "redact", "general").output.splitlines()
    keys = {line.split()[0] for line in lines if " = " in line}
    assert "redact.cells" in keys
    assert "slots" in keys
    assert not [key for key in keys if key.startswith("detect.")]
    (method,) = [line for line in lines if line.startswith("redact.method ")]
    assert method.split("#")[1].strip() == "blur, image, mosaic or solid"


def test_keys_of_a_stage_of_ones_own(invoke: Invoke) -> None:
    answer = invoke("presets", "keys", "foreign_stages:Tint")
    assert any(line.startswith("tint.habit ") for line in answer.output.splitlines())


def test_keys_of_an_unknown_stage_offers_the_nearest(invoke: Invoke) -> None:
    answer = invoke("presets", "keys", "redcat")
    assert answer.exit_code == 2
    assert "redact" in answer.stderr


def test_verify_names_a_damaged_model_and_its_cure(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPFLOW_CACHE", str(tmp_path))
    lines = invoke("models", "list", "--json").stdout.splitlines()
    path = Path(next(item["path"] for item in map(json.loads, lines) if item["name"] == "yunet"))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"damaged")
    answer = invoke("models", "verify")
    assert answer.exit_code == 2
    assert "yunet is damaged" in answer.stderr
    assert "mpflow models pull yunet" in answer.stderr


def test_unknown_model_offers_the_nearest(invoke: Invoke) -> None:
    answer = invoke("models", "path", "yunett", "--offline")
    assert answer.exit_code == 2
    assert "did you mean yunet" in answer.stderr


def test_doctor_checks_memory_encoders_and_models(invoke: Invoke) -> None:
    answer = invoke("doctor", "--json")
    checks = {check["name"]: check for check in map(json.loads, answer.stdout.splitlines())}
    for name in ("shared memory", "threads", "FFmpeg", "encoders", "OpenCV", "onnxruntime"):
        assert checks[name]["verdict"] == "ok", checks[name]
    models = {name for name in checks if name.startswith("model ")}
    assert models == {f"model {name}" for name in ("yunet", "sface", "facemesh", "centerface")}
    assert answer.exit_code == 0
    assert "shared memory" in invoke("doctor").output


def test_clean_removes_dead_segments_and_half_fetched_models(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPFLOW_CACHE", str(tmp_path))
    half = tmp_path / "models" / ".yunet.making-x1"
    half.mkdir(parents=True)
    dead = Path("/dev/shm/mpflow-0000test0000dead")
    dead.touch()
    try:
        answer = invoke("clean")
        assert f"removed shared memory segment {dead.name}" in answer.output
        assert f"removed {half}" in answer.output
        assert not dead.exists()
        assert not half.exists()
    finally:
        dead.unlink(missing_ok=True)


def test_an_unexpected_error_is_one_sentence_and_status_1(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("what nobody expected")

    monkeypatch.setattr("mpflow.console.presets.preset_lines", broken)
    answer = invoke("presets", "list")
    assert answer.exit_code == 1
    assert "RuntimeError: what nobody expected" in answer.stderr
    assert "Traceback" not in answer.stderr
