"""Who is to look like whom: one source for everybody, or a map."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpflow.errors import ConfigError
from mpflow.swapping.maps import absolute_pair, casting


def test_sources_are_photos_of_one_person_for_every_face() -> None:
    cast = casting(["a.jpg", "b.jpg", "a.jpg"], ())
    assert cast.sources == ((Path("a.jpg"), Path("b.jpg")),)
    for mark in (None, "p0", "other"):
        assert cast.photos_for(mark) == (Path("a.jpg"), Path("b.jpg"))


def test_a_map_gives_each_person_its_source_and_nobody_else_any() -> None:
    cast = casting((), ["anna.jpg=x.jpg", "bea.jpg=y.jpg", "anna.jpg=z.jpg", "carl.jpg=y.jpg"])
    assert cast.references == (Path("anna.jpg"), Path("bea.jpg"), Path("carl.jpg"))
    assert cast.sources == ((Path("x.jpg"), Path("z.jpg")), (Path("y.jpg"),))
    assert cast.photos_for("p0") == (Path("x.jpg"), Path("z.jpg"))
    assert cast.photos_for("p1") == cast.photos_for("p2") == (Path("y.jpg"),)
    assert cast.photos_for(None) == cast.photos_for("other") == cast.photos_for("p3") == ()


def test_an_equals_sign_in_a_name_is_found_out_by_what_files_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a=1.jpg", "b.jpg"):
        Path(name).touch()
    assert casting((), ["a=1.jpg=b.jpg"]).references == (Path("a=1.jpg"),)
    assert absolute_pair("a=1.jpg=b.jpg") == f"{tmp_path}/a=1.jpg={tmp_path}/b.jpg"


@pytest.mark.parametrize("text", ["anna.jpg", "=x.jpg", "anna.jpg=", " = "])
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not REFERENCE=SOURCE"):
        casting((), [text])


def test_nobody_to_show_and_two_ways_at_once_are_refused() -> None:
    with pytest.raises(ConfigError, match="no source photo"):
        casting((), ())
    with pytest.raises(ConfigError, match="contradict"):
        casting(["a.jpg"], ["anna.jpg=x.jpg"])
