"""npm's own client against a small registry on this machine, and what is said without one."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mpflow.errors import ModelError
from mpflow.models.store import ModelStore

Stores = Callable[..., ModelStore]

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm here")


class Registry(http.server.BaseHTTPRequestHandler):
    """One package, ``@box/things`` 1.0.0, and its tarball."""

    def __init__(self, ball: bytes, *rest: Any) -> None:
        self.ball = ball
        super().__init__(*rest)

    def do_GET(self) -> None:
        """Answer as a registry of npm's kind does."""
        if self.path.endswith(".tgz"):
            self._answer(200, self.ball)
        elif self.path.lower() == "/@box%2fthings":
            self._answer(200, json.dumps(self._document()).encode())
        else:
            self._answer(404, b"{}")

    def _document(self) -> dict[str, Any]:
        address = f"http://127.0.0.1:{self.server.server_address[1]}/things-1.0.0.tgz"
        dist = {"tarball": address, "shasum": hashlib.sha1(self.ball).hexdigest()}
        version = {"name": "@box/things", "version": "1.0.0", "dist": dist}
        return {
            "name": "@box/things",
            "dist-tags": {"latest": "1.0.0"},
            "versions": {"1.0.0": version},
        }

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def ball_with(content: bytes) -> bytes:
    """A package whose scripts would fail loudly if they ran."""
    scripts = dict.fromkeys(("prepack", "prepare", "postpack", "install"), "exit 41")
    facts = {"name": "@box/things", "version": "1.0.0", "scripts": scripts}
    kept = io.BytesIO()
    with tarfile.open(fileobj=kept, mode="w:gz") as ball:
        for name, data in (("package.json", json.dumps(facts).encode()), ("in/thing.bin", content)):
            item = tarfile.TarInfo(f"package/{name}")
            item.size = len(data)
            ball.addfile(item, io.BytesIO(data))
    return kept.getvalue()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> Iterator[None]:
    """The only registry that npm asks."""
    handler = partial(Registry, ball_with(content))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        chosen = {
            "registry": address,
            "cache": str(tmp_path / "npm"),
            "userconfig": str(tmp_path / "npmrc"),
            "noproxy": "127.0.0.1",
            "fetch_retries": "0",
        }
        for key, value in chosen.items():
            monkeypatch.setenv(f"npm_config_{key}", value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield
        server.shutdown()
        thread.join()


def package(**changes: str) -> list[dict[str, str]]:
    source = {"kind": "npm", "package": "@box/things", "version": "1.0.0"}
    return [{**source, "member": "in/thing.bin", **changes}]


@needs_npm
def test_a_file_comes_out_of_an_npm_package_without_running_its_scripts(
    store_of: Stores, registry: None, content: bytes
) -> None:
    told: list[str] = []
    path = store_of(sources=package()).path("thing", told.append)
    assert (path.read_bytes(), path.suffix) == (content, ".bin")
    assert told[0] == "fetching thing: in/thing.bin in @box/things 1.0.0 (npm)"
    assert [item.name for item in path.parent.iterdir() if item.suffix != ".lock"] == [path.name]


@needs_npm
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"version": "2.0.0"},
            r"npm could not download @box/things 2\.0\.0: .*No matching version",
        ),
        ({"package": "@box/other"}, r"npm could not download @box/other 1\.0\.0: .*404"),
        ({"member": "in/other.bin"}, r"no in/other\.bin in @box/things 1\.0\.0"),
    ],
)
def test_what_the_registry_does_not_have_is_named(
    store_of: Stores, registry: None, changes: dict[str, str], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        store_of(sources=package(**changes)).path("thing")


def test_without_npm_the_cure_is_said(store_of: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ModelError, match=r"npm is needed to fetch in/thing\.bin.*Node\.js"):
        store_of(sources=package()).path("thing")


def test_an_offline_store_does_not_start_npm(
    store_of: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: pytest.fail("npm was looked for"))
    with pytest.raises(ModelError, match="mpflow models pull thing"):
        store_of(offline=True, sources=package()).path("thing")
