"""A file in which faces were made says so in every container that can, and is read again."""

from __future__ import annotations

from pathlib import Path

import av
import clips
import pytest
from clips import Clip

from mpflow.errors import InputError
from mpflow.media.riffinfo import add_info
from mpflow.media.tags import kept_tags, private_tags
from mpflow.media.xmpbox import append_packet, read_packet_of
from mpflow.provenance.declared import read_declared
from mpflow.provenance.gb45438 import label_text, new_label
from mpflow.spec import MADE, REDACTED

COMPOSITE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeSynthetic"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "in.mkv"
    clip = Clip(range(5))
    with av.open(str(path), "w") as container:
        container.metadata["comment"] = "a day at sea"
        container.metadata["AIGC"] = '{"Label":"3","ContentProducer":"another","ProduceID":"x"}'
        clips.fill_video(container, clips.add_video(container, clip), clip)
    return path


@pytest.mark.parametrize("suffix", ["mp4", "mov", "m4v", "mkv", "webm", "flv", "nut"])
def test_every_container_with_tags_of_any_name_says_it(
    tmp_path: Path, source: Path, suffix: str
) -> None:
    output, codec = tmp_path / f"out.{suffix}", {"codec": "libvpx"} if suffix == "webm" else {}
    made = clips.convert(source, output, keep_metadata=False, made="composite", **codec)
    said = read_declared(output)
    assert (said.comment, said.source_type) == (MADE, COMPOSITE)
    assert said.label is not None
    assert (said.label.label, said.label.producer) == ("1", "mpflow")
    assert not [text for text in made.warnings if "cannot keep" in text]
    if suffix in ("mp4", "mov", "m4v"):
        assert (said.packet_source_type, said.packet_label) == (COMPOSITE, said.label)
        assert clips.convert(output, tmp_path / "again.mkv").sink.frames == 5
    else:
        assert not said.packet_source_type


def test_what_a_container_loses_is_named(tmp_path: Path, source: Path) -> None:
    stream = clips.convert(source, tmp_path / "out.ts", made="composite")
    assert any("it has no comment either" in text for text in stream.warnings)
    clips.convert(source, tmp_path / "out.3gp", made="composite")
    assert read_declared(tmp_path / "out.3gp").packet_source_type == COMPOSITE


def test_avi_gets_the_label_where_its_muxer_left_room(tmp_path: Path, source: Path) -> None:
    output = tmp_path / "out.avi"
    made = clips.convert(source, output, made="composite")
    said = read_declared(output)
    assert (said.comment, said.types) == (f"a day at sea; {MADE}", [])
    assert said.label is not None
    assert said.label.is_valid
    (lost,) = [text for text in made.warnings if "cannot keep" in text]
    assert "DigitalSourceType" in lost
    assert "AIGC" not in lost
    assert clips.convert(output, tmp_path / "again.mkv").sink.frames == 5
    before = output.read_bytes()
    assert not add_info(output, "LONG", "x" * 2000)
    assert output.read_bytes() == before


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv"])
def test_it_stands_beside_what_is_kept_and_replaces_the_label_of_the_input(
    tmp_path: Path, source: Path, name: str
) -> None:
    clips.convert(source, tmp_path / name, made="generated", producer="B", note=REDACTED)
    said = read_declared(tmp_path / name)
    assert said.comment == f"a day at sea; {REDACTED}; {MADE}"
    assert [each.producer for each in said.labels] == ["B"]
    clips.convert(tmp_path / name, tmp_path / f"twice-{name}", made="composite")
    again = read_declared(tmp_path / f"twice-{name}")
    assert again.comment == said.comment
    assert again.types == [COMPOSITE]
    assert again.label != said.label


def test_a_file_whose_faces_are_its_own_says_nothing(tmp_path: Path, source: Path) -> None:
    clips.convert(source, tmp_path / "out.mp4", keep_metadata=False)
    said = read_declared(tmp_path / "out.mp4")
    assert (said.comment, said.types, said.labels) == ("", [], [])
    assert not read_packet_of(tmp_path / "out.mp4")


def test_a_packet_is_found_behind_boxes_of_any_size(tmp_path: Path) -> None:
    def box(kind: bytes, body: bytes, *, long: bool = False) -> bytes:
        size = len(body) + (16 if long else 8)
        head = (1).to_bytes(4, "big") + kind + size.to_bytes(8, "big")
        return (head if long else size.to_bytes(4, "big") + kind) + body

    path = tmp_path / "boxes.mp4"
    path.write_bytes(box(b"ftyp", b"isom") + box(b"mdat", b"x" * 40, long=True))
    assert read_packet_of(path) == b""
    append_packet(path, b"packet")
    assert read_packet_of(path) == b"packet"


@pytest.mark.parametrize(
    "data", [b"", b"\0\0\0\3ftyp", b"\0\0\0\x08ftyp\0\0\0\3uuid", b"RIFF1234", b"\0\0\0\0ftyp"]
)
def test_files_that_are_no_boxes_have_no_packet(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    assert read_packet_of(tmp_path / "x") == b""


def test_what_is_no_video_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.mp4").write_text("nothing")
    with pytest.raises(InputError, match=r"x\.mp4"):
        read_declared(tmp_path / "x.mp4")
    with pytest.raises(InputError, match="no file"):
        read_declared(tmp_path / "none.mp4")


SAID = {
    "Iptc4xmpExt:DigitalSourceType": COMPOSITE,
    "AIGC": label_text(new_label("mpflow")),
}


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        *((key, value, True) for key, value in SAID.items()),
        ("AIGC", label_text(new_label("001191110102MAD55U9H0F10002")), True),
        ("AIGC", label_text(new_label("Anna")), False),
        ("AIGC", label_text(new_label("mpflow")).replace("ReservedCode1", "Anna"), False),
        ("AIGC", "Anna", False),
        ("Iptc4xmpExt:DigitalSourceType", f"{COMPOSITE} of Anna", False),
    ],
)
def test_that_something_was_made_outlives_a_private_run_where_it_holds_no_name(
    key: str, value: str, kept: bool
) -> None:
    for name in (key, key.upper()):
        assert kept_tags({name: value}, keep=False) == ({name: value} if kept else {})
        assert private_tags({name: value}) == ([] if kept else [name])


def test_a_made_file_that_is_redacted_stays_marked(tmp_path: Path, source: Path) -> None:
    clips.convert(source, tmp_path / "made.mp4", keep_metadata=False, made="composite")
    redacted = clips.convert(
        tmp_path / "made.mp4", tmp_path / "out.mp4", keep_metadata=False, note=REDACTED
    )
    before, said = read_declared(tmp_path / "made.mp4"), read_declared(tmp_path / "out.mp4")
    assert (said.comment, said.types, said.labels) == (REDACTED, before.types, before.labels)
    assert not [text for text in redacted.warnings if "AIGC" in text]


def test_beside_cover_art_it_is_said_in_xmp_and_everything_else_is_kept(tmp_path: Path) -> None:
    rich = clips.make_rich(tmp_path / "rich.mkv")
    made = clips.convert(rich, tmp_path / "out.mp4", made="composite")
    said = read_declared(tmp_path / "out.mp4")
    assert (said.comment, said.packet_source_type) == (MADE, COMPOSITE)
    assert said.packet_label is not None
    assert not [text for text in made.warnings if "which say that faces were made" in text]
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert len(container.streams.audio) == 2
        assert [s for s in container.streams.video if s.disposition & 1024]
