from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mpflow.errors import ModelError, ResourceError
from mpflow.models.store import Condition, ModelStore

Stores = Callable[..., ModelStore]

# A process of its own that asks a store for ``thing`` and says what it is told.
ASK = """
import sys
from pathlib import Path
from mpflow.models.manifest import Manifest
from mpflow.models.store import ModelStore
store = ModelStore(sys.argv[1], manifest=Manifest.load(Path(sys.argv[2])))
print(store.path("thing", lambda text: print(text, flush=True)), flush=True)
"""


def ask(store: ModelStore, manifest: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ASK, str(store.cache_dir.parent), str(manifest)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def made(store: ModelStore) -> list[str]:
    """What is in the cache besides lock files."""
    return [path.name for path in store.cache_dir.glob("*") if path.suffix != ".lock"]


def test_a_file_is_fetched_once_and_then_comes_from_the_cache(
    store_of: Stores, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "thing.bin").write_bytes(content)
    store = store_of()
    told: list[str] = []
    path = store.path("thing", told.append)
    assert path.read_bytes() == content
    assert told == ["fetching thing: thing.bin", "thing is ready"]
    (tmp_path / "thing.bin").unlink()
    assert store.path("thing", told.append) == path
    assert len(told) == 2


def test_a_wrong_hash_keeps_nothing_and_names_both(store_of: Stores, tmp_path: Path) -> None:
    (tmp_path / "thing.bin").write_bytes(b"something else")
    store = store_of()
    with pytest.raises(ModelError, match="wrong hash") as caught:
        store.path("thing")
    assert caught.value.facts["expected"] in str(caught.value)
    assert caught.value.facts["found"] in str(caught.value)
    assert made(store) == []


def test_a_wrong_file_is_not_passed_over_for_the_next_source(
    store_of: Stores, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "thing.bin").write_bytes(b"something else")
    (tmp_path / "second.bin").write_bytes(content)
    paths = [{"kind": "path", "path": name} for name in ("thing.bin", "second.bin")]
    with pytest.raises(ModelError, match="wrong hash"):
        store_of(sources=paths).path("thing")


def test_a_source_that_does_not_answer_is_passed_over(
    store_of: Stores, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "second.bin").write_bytes(content)
    paths = [{"kind": "path", "path": name} for name in ("thing.bin", "second.bin")]
    assert store_of(sources=paths).path("thing").read_bytes() == content


def test_when_no_source_answers_each_is_named(store_of: Stores) -> None:
    paths = [{"kind": "path", "path": name} for name in ("one.bin", "two.bin")]
    with pytest.raises(ModelError, match=r"one\.bin.*two\.bin"):
        store_of(sources=paths).path("thing")


def test_offline_says_which_command_fetches_what_is_missing(store_of: Stores) -> None:
    address = [{"kind": "url", "url": "https://example.invalid/thing.bin"}]
    store = store_of(offline=True, sources=address)
    with pytest.raises(ModelError, match="mpflow models pull thing"):
        store.path("thing")
    assert not store.cache_dir.exists()


def test_offline_still_reads_a_path(store_of: Stores, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "thing.bin").write_bytes(content)
    address = {"kind": "url", "url": "https://example.invalid/thing.bin"}
    store = store_of(offline=True, sources=[address, {"kind": "path", "path": "thing.bin"}])
    assert store.path("thing").read_bytes() == content


def test_a_damaged_file_in_the_cache_is_noticed_and_replaced(
    store_of: Stores, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "thing.bin").write_bytes(content)
    store = store_of()
    path = store.path("thing")
    path.write_bytes(content[:100])
    assert [item.condition for item in store.verify()] == [Condition.DAMAGED]
    assert store.path("thing").read_bytes() == content
    assert [item.condition for item in store.verify(["thing"])] == [Condition.PRESENT]


def test_list_tells_what_is_there_without_fetching(
    store_of: Stores, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "thing.bin").write_bytes(content)
    store = store_of()
    (before,) = store.list()
    assert (before.condition, before.size) == (Condition.MISSING, 0)
    store.pull(["thing"])
    (after,) = store.list()
    assert (after.condition, after.size) == (Condition.PRESENT, len(content))


def test_a_cache_that_cannot_be_written_is_a_resource_error(
    store_of: Stores, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file where the directory should be")
    with pytest.raises(ResourceError, match="MPFLOW_CACHE"):
        store_of().path("thing")


def test_the_environment_moves_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MPFLOW_CACHE", str(tmp_path / "elsewhere"))
    assert ModelStore().cache_dir == tmp_path / "elsewhere" / "models"


def test_two_processes_that_want_one_file_fetch_it_once(
    store_of: Stores, written: Callable[..., Path], tmp_path: Path, content: bytes
) -> None:
    """The source is a pipe that is filled once: a second fetch would wait for ever."""
    os.mkfifo(tmp_path / "thing.bin")
    store, manifest = store_of(), written()
    with ask(store, manifest) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "fetching thing: thing.bin\n"
        with ask(store, manifest) as second:
            assert second.stdout is not None
            assert second.stdout.readline().startswith("waiting for another process")
            (tmp_path / "thing.bin").write_bytes(content)
            path = first.stdout.read().splitlines()[-1]
            assert second.stdout.read().splitlines() == [path]
    assert Path(path).read_bytes() == content
    assert made(store) == [Path(path).name]


def test_a_process_killed_during_a_fetch_leaves_no_half_file_and_no_lock(
    store_of: Stores, written: Callable[..., Path], tmp_path: Path, content: bytes
) -> None:
    pipe = tmp_path / "thing.bin"
    os.mkfifo(pipe)
    store = store_of()
    # Opening the pipe returns when the fetch has opened its end.
    with ask(store, written()) as process, pipe.open("wb") as file:
        file.write(content[:5000])
        file.flush()
        process.kill()
        process.wait()
    assert [item.condition for item in store.list()] == [Condition.MISSING]
    assert len(list(store.cache_dir.glob(".thing.making-*"))) == 1
    pipe.unlink()
    pipe.write_bytes(content)
    path = store.path("thing")
    assert made(store) == [path.name]


def test_entries_of_two_manifest_versions_share_a_cache(
    store_of: Stores, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "thing.bin").write_bytes(content)
    store = store_of()
    old = store.path("thing")
    (tmp_path / "thing.bin").write_bytes(b"the next version")
    new = store_of(sha256=hashlib.sha256(b"the next version").hexdigest()).path("thing")
    assert old.read_bytes() == content
    assert new.read_bytes() == b"the next version"


def test_a_wrong_file_beside_is_noticed_and_nothing_is_kept(
    store_of: Stores, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "thing.bin").write_bytes(content)
    (tmp_path / "more.bin").write_bytes(b"other weights")
    store = store_of(transform="tfjs", result_sha256="0" * 64, beside={"more.bin": "1" * 64})
    with pytest.raises(ModelError, match="thing as fetched has the wrong hash: expected sha256 11"):
        store.path("thing")
    assert not [*store.cache_dir.glob("thing*")]
