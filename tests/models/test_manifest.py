from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpflow.errors import ModelError
from mpflow.models.manifest import Manifest, NpmSource, PackageSource, PathSource, UrlSource

Written = Callable[..., Path]


def test_the_shipped_manifest_reads_and_has_its_defaults() -> None:
    manifest = Manifest.shipped()
    assert manifest.default("detector") == "yunet"
    assert manifest.default("embedder") == "sface"
    assert manifest.entry("centerface").role == "detector"


def test_every_shipped_source_is_pinned_to_a_version() -> None:
    sources = [source for entry in Manifest.shipped().entries.values() for source in entry.sources]
    assert all(isinstance(source, PackageSource | NpmSource) for source in sources)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"licens": "MIT"}, "licens"),
        ({"role": "oracle"}, "role"),
        ({"sha256": "12"}, "sha256"),
        ({"sources": []}, "sources"),
        ({"sources": [{"kind": "hub", "name": "x"}]}, "kind"),
        ({"sources": [{"kind": "path", "path": "x", "mode": 1}]}, "mode"),
        ({"sources": [{"kind": "package", "package": "x", "member": "y"}]}, "version"),
        (
            {"sources": [{"kind": "package", "package": "-x", "version": "1", "member": "y"}]},
            "pack",
        ),
        ({"sources": [{"kind": "npm", "package": "x", "version": "^1.0.0", "member": "y"}]}, "ver"),
        (
            {"sources": [{"kind": "npm", "package": "../x", "version": "1.0.0", "member": "y"}]},
            "pa",
        ),
        (
            {"sources": [{"kind": "npm", "package": "-x", "version": "1.0.0", "member": "y"}]},
            "pack",
        ),
        ({"transform": "shrink"}, "transform"),
        ({"transform": "fold-yunet"}, "result_sha256"),
        ({"result_sha256": "0" * 64}, "result_sha256"),
    ],
)
def test_a_wrong_entry_is_refused_and_its_key_named(
    written: Written, changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(ModelError, match=named):
        Manifest.load(written(**changes))


def test_an_sdist_must_be_pinned_by_hash(written: Written) -> None:
    source = {"kind": "package", "package": "x", "version": "1", "member": "y", "archive": "sdist"}
    with pytest.raises(ModelError, match="archive_sha256"):
        Manifest.load(written(sources=[source]))


@pytest.mark.parametrize("text", ["", "[]", "version: 2\nentries: {}", "entries: {", "a: b: c"])
def test_a_file_that_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ModelError, match=r"mine\.yaml"):
        Manifest.load(path)


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="absent"):
        Manifest.load(tmp_path / "absent.yaml")


def test_two_defaults_for_one_role_are_refused(written: Written) -> None:
    manifest = Manifest.load(written(default=True))
    entry = manifest.entry("thing")
    with pytest.raises(ModelError, match="two defaults for media: thing and other"):
        Manifest({"thing": entry, "other": entry}, manifest.directory)


def test_a_misspelt_name_gets_the_nearest_one_offered() -> None:
    with pytest.raises(ModelError, match="did you mean yunet"):
        Manifest.shipped().entry("yunett")


def test_a_name_that_leaves_the_cache_is_refused(tmp_path: Path, written: Written) -> None:
    path = tmp_path / "escape.yaml"
    path.write_text(written().read_text().replace("thing:", "../thing:"))
    with pytest.raises(ModelError, match="matching regex"):
        Manifest.load(path)


def test_a_source_knows_the_files_beside_its_own() -> None:
    entry = Manifest.shipped().entry("esrgan-slim-x2")
    (source,) = entry.sources
    (name,) = entry.beside
    assert str(source.beside(name)).startswith(f"models/x2/{name} in @upscalerjs/esrgan-slim")
    assert UrlSource(url="https://a.invalid/b/c.json?d=e").beside("f.bin").url == (
        "https://a.invalid/b/f.bin"
    )
    assert PathSource(path="~/a/b.json").beside("f.bin").path == "~/a/f.bin"


def test_files_beside_are_for_a_transform(written: Written) -> None:
    with pytest.raises(ModelError, match="beside is for a transform"):
        Manifest.load(written(beside={"more.bin": "0" * 64}))
    with pytest.raises(ModelError, match="beside"):
        Manifest.load(written(beside={"../more.bin": "0" * 64}))
