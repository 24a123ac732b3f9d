"""`mpflow faces` and `clean --identities`: folders, names, refusals, and a real run."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import Result
from commands import Command

from mpflow.audit.mark import marked
from mpflow.models.store import ModelStore

Invoke = Callable[..., Result]


@pytest.fixture
def film(here: Path) -> Path:
    path = here / "film.mp4"
    path.write_bytes(b"x")
    return path


def outputs(answer: Result) -> list[str]:
    assert answer.exit_code == 0, answer.output
    return [job["output"] for job in json.loads(answer.stdout)["jobs"]]


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ((), "film.faces/frames.jsonl"),
        (("-o", "out"), "out/frames.jsonl"),
        (("-o", "out/"), "out/frames.jsonl"),
        (("-o", "."), "frames.jsonl"),
    ],
)
def test_one_film_fills_the_folder_that_is_named(
    invoke: Invoke, film: Path, words: tuple[str, ...], output: str
) -> None:
    assert outputs(invoke("faces", film.name, *words, "--dry-run", "--json")) == [output]


def test_several_films_get_a_folder_each(invoke: Invoke, here: Path) -> None:
    for name in ("in/a.mp4", "in/b/a.mkv", "in/a.mkv"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(b"x")
    answer = invoke("faces", "in", "-r", "-o", "out", "--dry-run", "--json")
    assert sorted(outputs(answer)) == [
        "out/a.mkv.faces/frames.jsonl",
        "out/a.mp4.faces/frames.jsonl",
        "out/b/a.faces/frames.jsonl",
    ]


def test_its_flags_are_keys_of_its_stage(invoke: Invoke, film: Path) -> None:
    words = ("--size", "112", "--template", "arcface", "--every", "2", "--table", "parquet")
    answer = invoke("faces", film.name, *words, "--identities", "--dry-run", "--json")
    values = json.loads(answer.stdout)["values"]
    told = {key: values[f"faces.{key}"]["value"] for key in ("size", "template", "every", "table")}
    assert told == {"size": 112, "template": "arcface", "every": 2.0, "table": "parquet"}
    assert values["faces.identities"] == {"value": True, "origin": "flag --identities"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "-"), "to a folder, not to standard output"),
        (("-o", "out.mp4"), "would be a folder"),
        (("-o", "film.mp4"), "is a file"),
        (("--size", "9"), "32<=x<=1024"),
    ],
)
def test_what_is_no_folder_is_refused(
    invoke: Invoke, film: Path, words: tuple[str, ...], said: str
) -> None:
    answer = invoke("faces", film.name, *words)
    assert answer.exit_code == 2
    assert said in answer.stderr


def test_faces_of_a_real_film_and_its_identities_removed(
    mpflow: Command, here: Path, model_store: ModelStore
) -> None:
    words = ("faces", model_store.path("carphone"), "-o", "out", "--identities")
    ran = mpflow(*words, "--frames", "0-39", "--size", "112", "--json")
    assert ran.code == 0, ran.err
    (done,) = ran.events_called("done")
    assert done["report"]["frames_written"] == 40
    facts = {stage["name"]: stage["facts"] for stage in done["report"]["stages"]}["faces"]
    assert (facts["tracks"], facts["people"]) == (1, 1)
    (row,) = csv.DictReader((here / "out" / "tracks.csv").read_text().splitlines())
    assert (row["frames_seen"], row["person"]) == ("40", "1")
    with np.load(here / "out" / "embeddings.npz") as data:
        assert data["embeddings"].shape == (1, 128)

    assert mpflow(*words).code == 2, "it is there already"
    cleaned = mpflow("clean", "--identities", "out")
    assert cleaned.out.splitlines() == [
        "removed out/embeddings.npz",
        "removed out/people/person-001.png",
        "kept out/crops: 1 picture of a face stays, of which a gallery can be made",
    ]
    assert not (here / "out" / "people").exists()
    assert mpflow("clean", "--identities", "out").out.startswith("out: no identities\n")
    assert (here / "out" / "tracks.csv").exists()


def test_cleaning_tells_of_contact_sheets_that_show_faces(invoke: Invoke, here: Path) -> None:
    picture = cv2.imencode(".png", np.zeros((2, 2), np.uint8))[1].tobytes()
    (here / "holiday.png").write_bytes(picture)
    (here / "sub").mkdir()
    (here / "sub" / "seen.png").write_bytes(marked(picture))
    answer = invoke("clean", "--identities", ".")
    assert answer.stdout.splitlines() == [
        ".: no identities",
        "kept sub/seen.png: a contact sheet of an audit, which shows faces",
    ]
    assert (here / "sub" / "seen.png").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--identities",), "of which folders"),
        (("out",), "mpflow clean --identities out"),
        (("--identities", "gone"), "there is no folder 'gone'"),
    ],
)
def test_cleaning_has_to_say_what_and_where(
    invoke: Invoke, here: Path, words: tuple[str, ...], said: str
) -> None:
    answer = invoke("clean", *words)
    assert answer.exit_code == 2
    assert said in answer.stderr
