"""Configuration is strict, layered, and says where every value came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpflow.config import load_preset, parse_set, preset_names, resolve
from mpflow.errors import ConfigError

CROP = "encode.crf"


@pytest.mark.parametrize("name", preset_names())
def test_every_shipped_preset_resolves(name: str) -> None:
    resolved = resolve(name, environ={})
    assert resolved.description
    assert resolved.spec.preset == name
    assert set(resolved.values) == set(resolved.origins)
    assert all(stage.target.count(":") == 1 for stage in resolved.spec.stages)


def test_later_layers_win_and_say_so(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("encode: {crf: 30, codec: libx265}\ndetect: {score: 0.5}\n")
    preset = tmp_path / "p.yaml"
    preset.write_text("stages: [{stage: decode}, {stage: encode, options: {crf: 20}}]\n")
    environ = {"MPFLOW_ENCODE__CRF": "22", "MPFLOW_CACHE": "/x", "HOME": "/y"}

    def crf(**kwargs: object) -> tuple[object, str]:
        resolved = resolve(str(preset), config_file=file, **kwargs)
        assert resolved.values["encode.codec"] == "libx265"
        assert resolved.origins["encode.codec"] == f"file {file}"
        return resolved.values[CROP], resolved.origins[CROP]

    assert crf(environ={}) == (20, f"preset {preset}")
    assert crf(environ=environ) == (22, "environment MPFLOW_ENCODE__CRF")
    assert crf(environ=environ, flags=[(CROP, "24", "flag --crf")]) == (24, "flag --crf")
    assert resolve("passthrough", environ={}).origins[CROP] == "default"


def test_one_entry_of_a_mapping_can_be_set() -> None:
    flags = [parse_set("encode.encoder_options.bframes=2"), parse_set("encode.encoder_options.g=9")]
    resolved = resolve("passthrough", environ={}, flags=flags)
    assert resolved.values["encode.encoder_options"] == {"bframes": "2", "g": "9"}


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("encode.crff=3", r"unknown key encode\.crff.*did you mean encode\.crf"),
        ("encod.crf=3", r"unknown key 'encod\.crf' from --set encod\.crf.*encode"),
        ("detect=3", r"unknown key 'detect'.*name one of its options: detect\.size"),
        ("slotz=3", r"unknown key 'slotz'.*slots"),
        ("encode.crf=many", r"encode\.crf: 'many' is not .*takes a number or null"),
        ("slots=many", "slots: 'many' is not what it takes.*a whole number from 0 to 4096"),
        ("detect.every=many", "detect.every: .*takes a whole number from 1 to 30 or auto"),
        ("redact.colour=red", "redact.colour: 'red' is not what it takes.*text like #00ff00"),
        ("slots=-1", "slots.*from 0 to 4096"),
        ("stall=0", "stall.*more than 0"),
        ("log_level=loud", "log_level.*takes debug, error, info or warning"),
        (
            "redact.method=mosiac",
            r"'mosiac' is not what it takes.*redact\.method takes blur, image, mosaic or solid",
        ),
        ("detect.score=7", r"detect\.score takes a number between 0 and 1"),
        ("detect.size=640", "WIDTHxHEIGHT"),
        ("method=mosaic", r"did you mean redact\.method"),
        ("detect.workers=0", r"detect\.workers: 0 is neither auto nor a number from 1 to 32"),
        ("encode.workers=2", r"encode\.workers must be 1"),
        ("detect.size=641x384", r"detect.*641x384"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_cure(flag: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        resolve("redact", environ={}, flags=[parse_set(flag)])
    assert caught.value.exit_status == 2
    assert caught.value.cure or "workers" in flag


def test_text_that_yaml_takes_for_something_else_stays_text() -> None:
    flags = [parse_set("redact.colour=#ff0000"), parse_set("encode.codec=264")]
    values = resolve("redact", environ={}, flags=flags).values
    assert (values["redact.colour"], values["encode.codec"]) == ("#ff0000", "264")


def test_an_ambient_value_for_another_preset_is_no_error_but_a_typo_is() -> None:
    assert resolve("passthrough", environ={"MPFLOW_DETECT__SCORE": "0.5"}).values
    with pytest.raises(ConfigError, match="MPFLOW_DETEKT__SCORE"):
        resolve("passthrough", environ={"MPFLOW_DETEKT__SCORE": "0.5"})


@pytest.mark.parametrize(
    ("environ", "text", "words"),
    [
        (
            {"MPFLOW_DETECT__SIZZE": "3"},
            "",
            r"key detect\.sizze \(from environment MPFLOW_DETECT__",
        ),
        (
            {"MPFLOW_DETECT__SCORE": "7"},
            "",
            r"detect\.score: .* \(from environment MPFLOW_DETECT__",
        ),
        ({"MPFLOW_SLOTS": "-1"}, "", r"slots: .* \(from environment MPFLOW_SLOTS\)"),
        ({"MPFLOW_DETECT__WORKERS": "0"}, "", r"detect\.workers: .* \(from environment MPFLOW_"),
        ({}, "redact: {metod: solid}", r"redact\.metod \(from file .*mine\.yaml\)"),
        ({}, "redact: {method: pixelate}", r"'pixelate' is not what .* \(from file .*mine\.yaml\)"),
    ],
)
def test_what_was_not_typed_names_where_it_came_from(
    tmp_path: Path, environ: dict[str, str], text: str, words: str
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        resolve("redact", environ=environ, config_file=file)
    assert caught.value.cure


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stages: [{stage: decode}, {stage: encode}]\nspeed: 3\n", "speed"),
        ("stages: [{stage: decode, options: {nope: 1}}, {stage: encode}]\n", r"decode\.nope"),
        ("stages: [{stage: decoed}, {stage: encode}]\n", "did you mean decode"),
        ("stages: [{stage: 'no_such_package:X'}, {stage: encode}]\n", "cannot be imported"),
        ("stages: [{stage: 'pathlib:Path'}, {stage: encode}]\n", "is no stage"),
        ("stages: [{stage: 'mpflow.stages.decode:No'}, {stage: encode}]\n", "no class 'No'"),
        ("stages: [{stage: detect}, {stage: encode}]\n", "must start with a source"),
        ("stages: [{stage: decode}, {stage: encode}, {stage: encode, name: b}]\n", "middle"),
        ("stages: [{stage: decode}, {stage: decode}]\n", "twice"),
        ("stages: [\n", "not YAML"),
        ("[]\n", "Expected `object`"),
    ],
)
def test_a_wrong_preset_file_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        resolve(str(path), environ={})


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean redact"):
        load_preset("redcat")
    with pytest.raises(ConfigError, match="does not exist"):
        load_preset("mine.yaml")


@pytest.mark.parametrize("text", ["detect.size", "=3", ""])
def test_a_set_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        parse_set(text)


PRIVATE = "stages: [{stage: decode}, {stage: detect}, {stage: redact}, {stage: encode}]\n"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (PRIVATE, False),  # a stage that protects people makes a preset private
        ("privacy: true\nstages: [{stage: decode}, {stage: encode}]\n", False),
        ("privacy: false\n" + PRIVATE, True),
        ("stages: [{stage: decode}, {stage: encode}]\n", True),
    ],
)
def test_a_private_preset_lets_nothing_else_out(tmp_path: Path, text: str, kept: bool) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    resolved = resolve(str(path), environ={})
    assert resolved.spec.privacy is not kept
    assert resolved.values["encode.keep_streams"] is kept
    assert resolved.values["encode.keep_metadata"] is kept
    asked = resolve(str(path), environ={}, flags=[("encode.keep_metadata", True, "flag")])
    assert asked.values["encode.keep_metadata"] is True


def test_the_shipped_redact_preset_is_private_and_says_so() -> None:
    resolved = resolve("redact", environ={})
    assert resolved.values["encode.keep_streams"] is False
    assert resolved.origins["encode.keep_metadata"] == "privacy of redact"


def test_a_stage_without_what_it_needs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "blind.yaml"
    path.write_text("stages: [{stage: decode}, {stage: redact}, {stage: encode}]\n")
    with pytest.raises(ConfigError, match=r"redact needs faces.*put detect before it"):
        resolve(str(path), environ={})


def test_a_stage_beside_its_preset_is_found(tmp_path: Path) -> None:
    (tmp_path / "beside_the_preset.py").write_text(
        "from mpflow.conformance import Nothing\n\n\nclass Mine(Nothing):\n    pass\n"
    )
    path = tmp_path / "mine.yaml"
    path.write_text("stages: [{stage: decode}, {stage: 'beside_the_preset:Mine'}]\n")
    assert resolve(str(path), environ={}).spec.stages[1].name == "mine"
