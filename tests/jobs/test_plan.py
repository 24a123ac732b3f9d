"""Planning: names, folders, conflicts, and the rule for outputs that exist."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mpflow.errors import ConfigError, InputError, OutputError
from mpflow.jobs import Planned, Request, draw_plan, jobs_of, plan_jobs

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes a file below a folder of its own, which is also the current one."""
    monkeypatch.chdir(tmp_path)

    def touch(name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        return path

    return touch


def names(plan: tuple[Planned, ...]) -> list[tuple[str, str]]:
    return [(one.job.input, one.job.output) for one in plan]


def test_one_file_becomes_the_output_named(make: Make) -> None:
    make("in.mp4")
    (job,) = plan_jobs(["in.mp4"], "out.mov", preset="redact")
    assert (job.output, job.partial) == ("out.mov", "out.partial.mov")
    assert not job.overwrite


@pytest.mark.parametrize(
    ("source", "preset", "output"),
    [
        ("in.mp4", "redact", "in.redacted.mp4"),
        ("in.webm", "redact", "in.redacted.mkv"),
        ("in.MOV", "passthrough", "in.passthrough.MOV"),
        ("in.mp4", "detect-only", "in.faces.jsonl"),
    ],
)
def test_without_output_the_result_lies_beside_the_input(
    make: Make, source: str, preset: str, output: str
) -> None:
    make(source)
    (job,) = plan_jobs([source], "", preset=preset)
    assert job.output == output


@pytest.mark.parametrize("name", ["a b.mp4", "it's.mp4", 'say "hi".mp4', "100%d.mp4", "日本 é.mp4"])
def test_names_stay_as_they_are(make: Make, name: str) -> None:
    make(name)
    (job,) = plan_jobs([name], "out/", preset="redact")
    assert (job.input, job.output) == (name, f"out/{name}")


def test_folder_becomes_a_folder_with_the_same_names(make: Make) -> None:
    for name in ("d/clip10.mp4", "d/clip2.mp4", "d/.hidden.mp4", "d/notes.txt", "d/sub/deep.mp4"):
        make(name)
    plan = draw_plan(Request(["d"], "out"))
    assert names(plan) == [("d/clip2.mp4", "out/clip2.mp4"), ("d/clip10.mp4", "out/clip10.mp4")]
    assert not Path("out").exists(), "planning touches nothing"


def test_recursive_mirrors_what_lies_below(make: Make) -> None:
    make("d/a.mp4")
    make("d/sub/a.mp4")
    plan = draw_plan(Request(["d"], "out", recursive=True))
    assert names(plan) == [("d/a.mp4", "out/a.mp4"), ("d/sub/a.mp4", "out/sub/a.mp4")]


def test_folder_is_not_searched_for_our_own_results(make: Make) -> None:
    for name in ("d/a.mp4", "d/a.redacted.mp4", "d/a.partial.mp4", "d/my.cut.mp4"):
        make(name)
    plan = draw_plan(Request(["d"], overwrite="no"))
    assert [one.job.input for one in plan] == ["d/a.mp4", "d/my.cut.mp4"]


def test_same_names_from_two_folders_keep_their_folders_names(make: Make) -> None:
    make("x/a.mp4")
    make("x/b.mp4")
    make("y/a.mp4")
    plan = draw_plan(Request(["x", "y"], "out"))
    assert [output for _, output in names(plan)] == ["out/x/a.mp4", "out/b.mp4", "out/y/a.mp4"]


def test_names_that_differ_in_their_ending_only_keep_it(make: Make) -> None:
    make("d/a.mp4")
    make("d/a.mov")
    plan = draw_plan(Request(["d"], "out", "detect-only"))
    assert [output for _, output in names(plan)] == ["out/a.mov.jsonl", "out/a.mp4.jsonl"]


def test_inputs_that_cannot_be_told_apart_are_refused_by_name(make: Make) -> None:
    make("p/x/a.mp4")
    make("q/x/a.mp4")
    with pytest.raises(OutputError, match=r"'p/x/a\.mp4' and 'q/x/a\.mp4' would both"):
        draw_plan(Request(["p/x/a.mp4", "q/x/a.mp4"], "out"))


def test_an_input_given_twice_is_worked_on_once(make: Make) -> None:
    make("d/a.mp4")
    assert len(draw_plan(Request(["d", "d/a.mp4", "./d/../d/a.mp4"], "out"))) == 1


@pytest.mark.parametrize("link", ["plain", "hard", "symbolic"])
def test_output_that_is_the_input_is_refused(make: Make, link: str) -> None:
    source, output = make("in.mp4"), Path("other.mp4")
    if link == "plain":
        output = Path("./sub/../in.mp4")
        Path("sub").mkdir()
    elif link == "hard":
        os.link(source, output)
    else:
        output.symlink_to(source)
    with pytest.raises(OutputError, match="is the same file as input"):
        plan_jobs(["in.mp4"], str(output), preset="redact", overwrite=True)


def test_output_folder_that_holds_the_inputs_is_refused(make: Make) -> None:
    make("d/a.mp4")
    with pytest.raises(OutputError, match="is the same file as input"):
        draw_plan(Request(["d"], "d", overwrite="yes"))


def test_partial_name_that_is_the_input_is_refused(make: Make) -> None:
    make("a.partial.mp4")
    with pytest.raises(OutputError, match="which is the input"):
        plan_jobs(["a.partial.mp4"], "a.mp4", preset="redact")


def test_output_of_one_job_is_no_partial_of_another(make: Make) -> None:
    make("x/a.mp4")
    make("x/a.partial.mp4")
    with pytest.raises(OutputError, match="would both write"):
        draw_plan(Request(["x/a.mp4", "x/a.partial.mp4"], "out"))


def test_existing_output_is_an_error_that_names_the_flags(make: Make) -> None:
    make("in.mp4")
    make("out.mp4")
    with pytest.raises(OutputError, match=r"exists already \(-y overwrites") as caught:
        plan_jobs(["in.mp4"], "out.mp4", preset="redact")
    assert caught.value.exit_status == 2


def test_existing_output_is_overwritten_or_skipped_as_asked(make: Make) -> None:
    make("d/a.mp4")
    make("d/b.mp4")
    make("out/a.mp4")
    yes = draw_plan(Request(["d"], "out", overwrite="yes"))
    no = draw_plan(Request(["d"], "out", overwrite="no"))
    assert [one.job.overwrite for one in yes] == [True, True]
    assert [one.skipped for one in no] == ["its output exists", ""]


def test_a_person_is_asked_for_each_existing_output(make: Make) -> None:
    for name in ("d/a.mp4", "d/b.mp4", "out/a.mp4", "out/b.mp4"):
        make(name)
    plan = draw_plan(Request(["d"], "out"), confirm=lambda path: path.name == "b.mp4")
    assert [(one.job.overwrite, bool(one.skipped)) for one in plan] == [
        (False, True),
        (True, False),
    ]


def test_missing_input_stays_with_its_own_job(make: Make) -> None:
    make("a.mp4")
    missing, good = draw_plan(Request(["gone.mp4", "a.mp4"], "out"))
    assert isinstance(missing.error, InputError)
    assert (good.error, good.job.output) == (None, "out/a.mp4")
    with pytest.raises(InputError, match=r"no file 'gone\.mp4'"):
        plan_jobs(["gone.mp4"], "out.mp4", preset="redact")


def test_folder_without_videos_names_what_was_looked_for(make: Make) -> None:
    make("d/notes.txt")
    with pytest.raises(InputError, match=r"no video in it .*\.mkv \.mov \.mp4"):
        plan_jobs(["d"], "out", preset="redact")


def test_a_name_that_is_no_utf8_is_an_input_error(make: Make) -> None:
    with pytest.raises(InputError, match="not UTF-8"):
        plan_jobs([os.fsdecode(b"a\xff.mp4")], "out.mp4", preset="redact")


@pytest.mark.parametrize(
    ("inputs", "output", "preset", "says"),
    [
        (["a.mp4"], "missing/out.mp4", "redact", "does not exist"),
        (["a.mp4"], "out", "redact", "which container"),
        (["a.mp4", "b.mp4"], "c.mp4", "redact", "several inputs need a folder"),
        (["a.mp4"], "/dev/null", "detect-only", "is no file"),
        (["a.mp4"], "-", "redact", "standard output"),
        (["a.mp4", "b.mp4"], "-", "detect-only", "share standard output"),
        (["a.mp4"], "rtmp://host/x", "redact", "cannot be a URL"),
        (["a.mp4"], "new.mp4", "detect-only", "not a video"),
        (["a.mp4"], "new.MKV", "detect-only", r"name it new\.jsonl"),
        (["a.mp4", "b.mp4"], "new.mp4", "redact", "would be a folder"),
        (["."], "new.mkv", "redact", r"end it in /, .*new\.mkv/"),
        (["a.mp4", "b.mp4"], "new.jsonl", "detect-only", "would be a folder"),
    ],
)
def test_outputs_that_cannot_be_are_refused(
    make: Make, inputs: list[str], output: str, preset: str, says: str
) -> None:
    for name in ("a.mp4", "b.mp4", "c.mp4"):
        make(name)
    with pytest.raises(OutputError, match=says):
        draw_plan(Request(inputs, output, preset, "yes"))


def test_a_folder_may_be_called_anything_when_it_is_meant(make: Make) -> None:
    make("d/a.mp4")
    for output in ("new.mp4/", "2024.05.01"):
        assert draw_plan(Request(["d"], output))[0].job.output == str(Path(output) / "a.mp4")
    Path("there.mp4").mkdir()
    assert draw_plan(Request(["d"], "there.mp4"))[0].job.output == "there.mp4/a.mp4"


def test_faces_may_go_to_a_file_of_any_name_that_is_no_videos(make: Make) -> None:
    make("a.mp4")
    for output in ("faces.jsonl", "faces.txt", "faces"):
        (job,) = plan_jobs(["a.mp4"], output, preset="detect-only")
        assert job.output == output


def test_faces_may_go_to_standard_output(make: Make) -> None:
    make("a.mp4")
    (job,) = plan_jobs(["a.mp4"], "-", preset="detect-only")
    assert (job.output, job.partial) == ("-", f"/proc/{os.getpid()}/fd/1")


def test_unknown_preset_offers_the_nearest(make: Make) -> None:
    make("a.mp4")
    with pytest.raises(ConfigError, match="did you mean redact"):
        plan_jobs(["a.mp4"], "out.mp4", preset="redcat")


def test_no_input_at_all_is_wrong_usage() -> None:
    with pytest.raises(ConfigError, match="no input"):
        draw_plan(Request([]))


def test_a_job_has_its_range_and_the_folder_of_its_parts(make: Make) -> None:
    make("in.mp4")
    (job,) = jobs_of(Request(["in.mp4"], "out.mp4", start=10, stop=20, resume=True))
    assert (job.start, job.stop, job.resume, job.parts) == (10, 20, True, "out.mp4.parts")


@pytest.mark.parametrize("kind", ["tokens", "trace", "written"])
def test_a_report_of_any_kind_never_replaces_an_input(make: Make, kind: str) -> None:
    make("in.dat")
    given = ["in.dat"] if kind == "written" else "in.dat"
    with pytest.raises(OutputError, match=r"'in\.dat' is the same file as input"):
        draw_plan(Request(["in.dat"], "out.mp4", **{kind: given}))


def test_faces_on_standard_output_have_tokens_named_after_the_input(make: Make) -> None:
    make("d/a.mp4")
    (planned,) = draw_plan(Request(["d/a.mp4"], "-", "detect-only", tokens="t/"))
    assert planned.job.tokens == "t/a.mp4.tokens.jsonl"
    url = "http://bob:secret@host/a.mp4"
    (planned,) = draw_plan(Request([url], "-", "detect-only", tokens="t/"))
    assert planned.job.tokens == "t/stream.tokens.jsonl"
