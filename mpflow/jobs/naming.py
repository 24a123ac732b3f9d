"""What a job's output is called, and what it is called while it is made.

    -o FILE                     FILE
    -o FOLDER, or many inputs   FOLDER/NAME.EXT, below it as the input lay below its folder
    no -o                       beside the input: NAME.redacted.EXT

A sink that fills a folder has its file in it: FOLDER/FILE for one input, FOLDER/NAME.faces/FILE for
many, NAME.faces/FILE beside the input.

While it is made it is ``NAME.partial.EXT`` beside that, in the same file system, so that the
last step is one rename.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpflow.errors import OutputError
from mpflow.jobs.discover import Found

KEPT_SUFFIXES = frozenset({".mp4", ".m4v", ".mov", ".mkv", ".ts", ".m2ts", ".mts"})
"""Containers that carry H.264 with every time stamp; other inputs become Matroska."""

OTHERWISE = ".mkv"


@dataclass(frozen=True, slots=True)
class Product:
    """What a preset makes: ``word`` goes into default names, ``suffix`` is fixed or empty; what is
    made ``within`` a folder is a file of that name in it."""

    word: str
    suffix: str = ""
    within: str = ""

    @property
    def folder(self) -> Product:
        """The folder that it is made within, as a product of its own."""
        return Product(self.word, f".{self.word}")

    def suffix_for(self, source: Path) -> str:
        """The ending of the output for one input."""
        if self.suffix:
            return self.suffix
        return source.suffix if source.suffix.lower() in KEPT_SUFFIXES else OTHERWISE


def beside(found: Found, product: Product) -> Path:
    """The output's name when none was given: beside the input."""
    source = Path(found.path)
    if product.within:
        return source.with_name(f"{source.stem}{product.folder.suffix}") / product.within
    return source.with_name(f"{source.stem}.{product.word}{product.suffix_for(source)}")


def below(folder: Path, found: Sequence[Found], product: Product) -> list[Path]:
    """Outputs in a folder, one for each input, no two alike.

    Inputs that would get the same name keep their whole name where only the ending differs
    (``clip.avi.mkv``), else their own folder's name in front (``a/clip.mp4``, ``b/clip.mp4``).
    Raises OutputError that names both inputs when that does not tell them apart either.
    """
    if product.within:
        return [each / product.within for each in below(folder, found, product.folder)]
    chosen = [0] * len(found)
    while True:
        names = [_WAYS[way](one, product) for way, one in zip(chosen, found, strict=True)]
        alike = _alike(names)
        if not alike:
            return [folder / name for name in names]
        if all(chosen[index] == len(_WAYS) - 1 for index in alike):
            one, other = (found[index].path for index in alike[:2])
            raise OutputError(
                f"{one!r} and {other!r} would both become {str(folder / names[alike[0]])!r}",
                cure="run them with an output folder each",
            )
        for index in alike:
            chosen[index] = min(chosen[index] + 1, len(_WAYS) - 1)


def _plain(found: Found, product: Product) -> Path:
    return found.relative.with_suffix(product.suffix_for(found.relative))


def _whole(found: Found, product: Product) -> Path:
    return found.relative.with_name(found.relative.name + product.suffix_for(found.relative))


def _in_folder(found: Found, product: Product) -> Path:
    return Path(found.folder) / _plain(found, product)


def _whole_in_folder(found: Found, product: Product) -> Path:
    return Path(found.folder) / _whole(found, product)


_WAYS: Sequence[Callable[[Found, Product], Path]] = (
    _plain,
    _whole,
    _in_folder,
    _whole_in_folder,
)


def _alike(names: Sequence[Path]) -> list[int]:
    """The places of the first name that occurs twice."""
    places: dict[Path, list[int]] = {}
    for index, name in enumerate(names):
        places.setdefault(name, []).append(index)
    return next((same for same in places.values() if len(same) > 1), [])
