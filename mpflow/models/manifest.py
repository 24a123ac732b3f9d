"""The model manifest: what models and media there are, where each comes from, what it must be.

An entry is complete on its own: a role, a licence, where the file comes from, its hash as it
comes, and, if it is transformed, how, and the hash of the result. Read strictly: an unknown key,
a missing one or a hash that is no hash is an error that names the place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urljoin

import msgspec
import yaml
from msgspec.structs import replace

from mpflow.errors import ModelError

Role: TypeAlias = Literal["detector", "landmarks", "embedder", "enhancer", "media"]
Transform: TypeAlias = Literal["fold-yunet", "fold-sface", "free-centerface", "tflite", "tfjs"]
Name: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)]
Sha256: TypeAlias = Annotated[
    str,
    msgspec.Meta(pattern="^[0-9a-f]{64}$", examples=["e3b0c442...b855 (64 hexadecimal digits)"]),
]


FileName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of everything in the manifest."""


class PackageSource(_Strict, frozen=True, tag_field="kind", tag="package"):
    """A file inside one pinned release of a registry package.

    pip looks into an sdist's metadata by running its build system, so an sdist is pinned by
    ``archive_sha256`` too; a wheel is only opened, and its member checked by the entry's hash.
    """

    package: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9.!+_-]*$")]
    member: str
    archive: Literal["wheel", "sdist"] = "wheel"
    archive_sha256: Sha256 | None = None

    def __post_init__(self) -> None:
        if self.archive == "sdist" and self.archive_sha256 is None:
            raise ValueError("an sdist needs archive_sha256")

    def beside(self, name: str) -> PackageSource:
        """The file of this name in the member's own folder."""
        return replace(self, member=str(PurePosixPath(self.member).with_name(name)))

    def __str__(self) -> str:
        return f"{self.member} in {self.package} {self.version}"


class NpmSource(_Strict, frozen=True, tag_field="kind", tag="npm"):
    """A file inside one pinned release of an npm package, named below the package's own folder."""

    package: Annotated[
        str, msgspec.Meta(pattern=r"^(@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*$")
    ]
    version: Annotated[str, msgspec.Meta(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+[A-Za-z0-9.+-]*$")]
    member: str

    def beside(self, name: str) -> NpmSource:
        """The file of this name in the member's own folder."""
        return replace(self, member=str(PurePosixPath(self.member).with_name(name)))

    def __str__(self) -> str:
        return f"{self.member} in {self.package} {self.version} (npm)"


class UrlSource(_Strict, frozen=True, tag_field="kind", tag="url"):
    """A file at an address that pooch can fetch (http, https, ftp, sftp, doi)."""

    url: str

    def beside(self, name: str) -> UrlSource:
        """The file of this name at the same place."""
        return replace(self, url=urljoin(self.url, name))

    def __str__(self) -> str:
        return self.url


class PathSource(_Strict, frozen=True, tag_field="kind", tag="path"):
    """A file on this machine; a relative path starts at the manifest's own directory."""

    path: str

    def beside(self, name: str) -> PathSource:
        """The file of this name in the same folder."""
        return replace(self, path=str(Path(self.path).with_name(name)))

    def __str__(self) -> str:
        return self.path


Source: TypeAlias = PackageSource | NpmSource | UrlSource | PathSource


class Entry(_Strict, frozen=True):
    """One model or media file.

    ``sources`` are tried in their order. ``sha256`` is of the file as it comes;
    ``result_sha256`` of what ``transform`` makes of it, and is given exactly when there is one.
    ``beside``: names and hashes of further files of its folder that the transformation reads.
    """

    role: Role
    licence: str
    description: str
    sources: Annotated[tuple[Source, ...], msgspec.Meta(min_length=1)]
    sha256: Sha256
    transform: Transform | None = None
    result_sha256: Sha256 | None = None
    beside: dict[FileName, Sha256] = msgspec.field(default_factory=dict)
    default: bool = False

    def __post_init__(self) -> None:
        if (self.transform is None) != (self.result_sha256 is None):
            raise ValueError("transform and result_sha256 go together")
        if self.beside and self.transform is None:
            raise ValueError("beside is for a transform that reads more files")

    def hashes(self, main: Path) -> dict[Path, str]:
        """What each file as it comes must have: the one at ``main``, and those beside it."""
        beside = {main.with_name(name): sha256 for name, sha256 in self.beside.items()}
        return {main: self.sha256, **beside}

    @property
    def final_sha256(self) -> str:
        """The hash of the file that the store gives out."""
        return self.result_sha256 or self.sha256

    @property
    def suffix(self) -> str:
        """The file's ending, taken from where it comes from; what is transformed is ONNX."""
        if self.transform is not None:
            return ".onnx"
        source = self.sources[0]
        place = source.member if isinstance(source, PackageSource | NpmSource) else str(source)
        return Path(place.partition("?")[0]).suffix


class _Document(_Strict, frozen=True):
    """The file as a whole; ``version`` is of its format."""

    version: Literal[1]
    entries: dict[Name, Entry]


class Manifest:
    """All entries by name; ``directory`` is where relative paths start."""

    def __init__(self, entries: dict[str, Entry], directory: Path) -> None:
        self.entries = dict(entries)
        self.directory = directory
        _one_default_each(self.entries)

    @classmethod
    def shipped(cls) -> Manifest:
        """The manifest that comes with mpflow."""
        return cls(_shipped(), Path.cwd())

    @classmethod
    def load(cls, path: Path) -> Manifest:
        """Read a manifest of one's own; raises ModelError that names the key."""
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"cannot read the model manifest {path}: {error}") from error
        return cls.parse(text, path.parent.absolute(), str(path))

    @classmethod
    def parse(cls, text: str, directory: Path, name: str) -> Manifest:
        """Read a manifest from YAML text; ``name`` is what errors call it."""
        return cls(_entries(text, name), directory)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def entry(self, name: str) -> Entry:
        """The entry of this name; raises ModelError that offers the nearest one."""
        if name in self.entries:
            return self.entries[name]
        near = difflib.get_close_matches(name, self.entries, n=1)
        known = f"did you mean {near[0]}?" if near else f"known: {', '.join(self.entries)}"
        raise ModelError(f"no model is called {name!r}", cure=known)

    def default(self, role: Role) -> str:
        """The name of the entry that is used for ``role`` unless another is asked for."""
        for name, entry in self.entries.items():
            if entry.role == role and entry.default:
                return name
        raise ModelError(f"the model manifest has no default {role}")


@cache
def _shipped() -> dict[str, Entry]:
    """The entries of the shipped manifest. A command asks for them many times."""
    source = resources.files("mpflow.configs") / "models.yaml"
    return _entries(source.read_text("utf-8"), "configs/models.yaml")


def _entries(text: str, name: str) -> dict[str, Entry]:
    try:
        return dict(msgspec.convert(yaml.safe_load(text), _Document).entries)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise ModelError(f"the model manifest {name} is wrong: {error}") from error


def _one_default_each(entries: dict[str, Entry]) -> None:
    """Raise ModelError if a role has two defaults."""
    chosen: dict[str, str] = {}
    for name, entry in entries.items():
        if entry.default and chosen.setdefault(entry.role, name) != name:
            raise ModelError(
                f"the model manifest has two defaults for {entry.role}: "
                f"{chosen[entry.role]} and {name}"
            )
