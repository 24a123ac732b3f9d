from __future__ import annotations

import http.server
import importlib.util
import io
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mpflow.errors import ModelError
from mpflow.models.fetch import Archives
from mpflow.models.manifest import PackageSource
from mpflow.models.store import ModelStore

Stores = Callable[..., ModelStore]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """tmp_path over http."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    handler = partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip looks: a directory instead of a registry."""
    directory = tmp_path / "shelf"
    directory.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


def put_wheel(shelf: Path, content: bytes) -> None:
    name = "boxofthings-1.0"
    facts = "Metadata-Version: 2.1\nName: boxofthings\nVersion: 1.0\n"
    tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(shelf / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("boxofthings/__init__.py", "raise SystemExit('imported')")
        wheel.writestr("boxofthings/thing.bin", content)
        wheel.writestr(f"{name}.dist-info/METADATA", facts)
        wheel.writestr(f"{name}.dist-info/WHEEL", tags)
        wheel.writestr(f"{name}.dist-info/RECORD", "")


def put_sdist(shelf: Path) -> None:
    with tarfile.open(shelf / "boxofthings-1.0.tar.gz", "w:gz") as sdist:
        text = b"raise SystemExit('the build system ran')"
        facts = tarfile.TarInfo("boxofthings-1.0/setup.py")
        facts.size = len(text)
        sdist.addfile(facts, io.BytesIO(text))


def package(**changes: str) -> list[dict[str, str]]:
    source = {"kind": "package", "package": "boxofthings", "version": "1.0"}
    return [{**source, "member": "boxofthings/thing.bin", **changes}]


def test_a_file_comes_out_of_a_package_without_importing_it(
    store_of: Stores, shelf: Path, content: bytes
) -> None:
    put_wheel(shelf, content)
    store = store_of(sources=package())
    assert store.path("thing").read_bytes() == content
    assert importlib.util.find_spec("boxofthings") is None


def test_one_pull_downloads_a_package_once(store_of: Stores, shelf: Path, content: bytes) -> None:
    put_wheel(shelf, content)
    store = store_of(sources=package())
    (source,) = store.manifest.entry("thing").sources
    assert isinstance(source, PackageSource)
    with Archives() as archives:
        first = archives.archive(source, shelf)
        (shelf / "boxofthings-1.0-py3-none-any.whl").unlink()
        assert archives.archive(source, shelf) is first
    assert first.closed


def test_a_version_that_is_not_there_gives_pips_own_reason(
    store_of: Stores, shelf: Path, content: bytes
) -> None:
    put_wheel(shelf, content)
    with pytest.raises(ModelError, match=r"boxofthings 2\.0.*No matching distribution"):
        store_of(sources=package(version="2.0")).path("thing")


def test_a_member_that_is_not_there_is_named(store_of: Stores, shelf: Path, content: bytes) -> None:
    put_wheel(shelf, content)
    with pytest.raises(ModelError, match=r"no boxofthings/other\.bin in boxofthings 1\.0"):
        store_of(sources=package(member="boxofthings/other.bin")).path("thing")


def test_an_sdist_with_a_wrong_hash_is_refused_before_its_build_system_runs(
    store_of: Stores, shelf: Path
) -> None:
    put_sdist(shelf)
    source = package(archive="sdist", archive_sha256="0" * 64)
    with pytest.raises(ModelError, match="could not download") as caught:
        store_of(sources=source).path("thing")
    assert "HASHES" in str(caught.value)
    assert "build system ran" not in str(caught.value)


def test_without_pip_the_cure_is_said(store_of: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="ensurepip"):
        store_of(sources=package()).path("thing")


def test_a_file_comes_from_an_address(
    store_of: Stores, tmp_path: Path, address: str, content: bytes
) -> None:
    (tmp_path / "thing.bin").write_bytes(content)
    store = store_of(sources=[{"kind": "url", "url": f"{address}/thing.bin"}])
    assert store.path("thing").read_bytes() == content


def test_an_address_without_the_file_is_named_without_its_password(
    store_of: Stores, address: str
) -> None:
    secret = address.replace("://", "://user:password@")
    told: list[str] = []
    with pytest.raises(ModelError, match="404") as caught:
        store_of(sources=[{"kind": "url", "url": f"{secret}/thing.bin"}]).path("thing", told.append)
    assert "password" not in str(caught.value) + str(told)
