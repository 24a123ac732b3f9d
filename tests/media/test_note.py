"""A redacted file says so in its comment, in every container that has one."""

from __future__ import annotations

from pathlib import Path

import av
import clips
import pytest
from clips import Clip

from mpflow.config import resolve
from mpflow.media.tags import add_comment
from mpflow.spec import REDACTED, REDACTED_IN_PART


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("note") / "in.mkv"
    clip = Clip(range(5))
    with av.open(str(path), "w") as container:
        container.metadata["comment"] = "a day at sea"
        clips.fill_video(container, clips.add_video(container, clip), clip)
    return path


def comment_of(path: Path) -> str:
    with av.open(str(path)) as container:
        found = {key.lower(): value for key, value in container.metadata.items()}
    return found.get("comment", "")


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv", "webm", "avi", "flv"])
def test_the_note_is_in_the_file_whose_own_tags_are_gone(
    tmp_path: Path, source: Path, suffix: str
) -> None:
    output, codec = tmp_path / f"out.{suffix}", {"codec": "libvpx"} if suffix == "webm" else {}
    clips.convert(source, output, keep_metadata=False, note=REDACTED, **codec)
    assert comment_of(output) == REDACTED


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv"])
def test_a_comment_that_is_kept_stays_beside_the_note(
    tmp_path: Path, source: Path, name: str
) -> None:
    clips.convert(source, tmp_path / name, note=REDACTED)
    assert comment_of(tmp_path / name) == f"a day at sea; {REDACTED}"


def test_a_file_that_is_redacted_again_says_it_once(tmp_path: Path, source: Path) -> None:
    clips.convert(source, tmp_path / "once.mkv", keep_metadata=False, note=REDACTED)
    clips.convert(tmp_path / "once.mkv", tmp_path / "twice.mkv", note=REDACTED)
    assert comment_of(tmp_path / "twice.mkv") == REDACTED


def test_no_note_makes_no_comment() -> None:
    tags: dict[str, str] = {}
    add_comment(tags, "")
    assert tags == {}


PRESET = """
privacy: {privacy}
stages:
  - stage: decode
  - stage: detect
  {redact}
  - stage: encode
"""


@pytest.mark.parametrize(
    ("privacy", "redact", "note"),
    [
        ("null", "- stage: redact", REDACTED),
        ("false", "- stage: redact", REDACTED),
        ("true", "", ""),
        ("null", "", ""),
    ],
)
def test_what_redacts_says_so_whether_or_not_it_is_private(
    tmp_path: Path, privacy: str, redact: str, note: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PRESET.format(privacy=privacy, redact=redact))
    assert resolve(str(path), environ={}).spec.stages[-1].options["note"] == note


@pytest.mark.parametrize(
    ("flag", "note"),
    [
        (("redact.spans", "0:01-0:02"), REDACTED_IN_PART),
        (("redact.people", "only"), REDACTED_IN_PART),
        (("redact.spans", ""), REDACTED),
        (("redact.people", "all"), REDACTED),
        (("encode.note", REDACTED), REDACTED),
    ],
)
def test_what_is_to_be_redacted_in_part_says_so(flag: tuple[str, str], note: str) -> None:
    flags = [(*flag, "flag")]
    preset = "redact-only" if flag[0] == "redact.people" else "redact"
    assert resolve(preset, flags=flags, environ={}).spec.stages[-1].options["note"] == note


def test_presets_for_some_people_redact_in_part() -> None:
    for preset in ("redact-only", "redact-except", "live-redact-only"):
        note = resolve(preset, environ={}).spec.stages[-1].options["note"]
        assert note == REDACTED_IN_PART


def test_live_presets_that_redact_say_so_too() -> None:
    assert resolve("live-redact", environ={}).spec.stages[-1].options["note"] == REDACTED


def test_the_note_can_be_another() -> None:
    flags = [("encode.note", "Made in Ghent", "flag")]
    resolved = resolve("redact", flags=flags, environ={})
    assert resolved.spec.stages[-1].options["note"] == "Made in Ghent"
