"""What became of every frame, chunk by chunk, and over the whole job."""

from __future__ import annotations

from pathlib import Path

import clips
import msgspec
import pytest
from clips import Clip
from farmed import make_chunk, passthrough, planned

from mpflow.accounts import LostFrame
from mpflow.errors import Degraded
from mpflow.farm.books import ledger_of
from mpflow.farm.concat import Concat, concat
from mpflow.farm.draw import Drawn
from mpflow.stretches import Stretch

MASKED = Stretch(0, 4, delivered=3, masked=1, rows=[LostFrame(2, 2, "masked", "detect", "it died")])


def job(folder: Path, *, strict: bool) -> Drawn:
    """Ten frames in three chunks; the third frame of the second one was masked."""
    source = clips.make(folder / "in.mp4", Clip(pts=range(10)))
    drawn = planned(source, folder / "out.mkv", passthrough(strict=strict))
    for number, stretch in enumerate([Stretch(0, 4, delivered=4), MASKED, Stretch(0, 2, 2)]):
        make_chunk(drawn.plan, number)
        start, stop = drawn.plan.chunks[number]
        name = f"{start:09d}-{stop:09d}.ledger"
        (Path(drawn.plan.parts) / name).write_bytes(msgspec.json.encode(stretch) + b"\n")
    return drawn


def test_ledgers_of_chunks_add_up_with_frames_as_the_input_counts_them(tmp_path: Path) -> None:
    drawn = job(tmp_path, strict=False)
    summary = concat(drawn.plan, drawn.file, Concat(), print)
    assert summary is not None
    assert summary.ledger is not None
    assert summary.ledger.words() == "1 frame masked"
    assert summary.ledger.frames == 10
    assert [row.frame for row in summary.ledger.rows] == [6]


def test_a_strict_plan_ends_degraded_when_a_frame_is_not_as_asked(tmp_path: Path) -> None:
    drawn = job(tmp_path, strict=True)
    for _ in range(2):  # repeating it does not make it better
        with pytest.raises(Degraded, match="1 frame masked"):
            concat(drawn.plan, drawn.file, Concat(), print)
    assert len(clips.times(tmp_path / "out.mkv")) == 10


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"start":0,"stop":3,"delivered":3}\n'])
def test_without_a_whole_ledger_nothing_is_claimed(tmp_path: Path, content: bytes | None) -> None:
    drawn = job(tmp_path, strict=False)
    ledger = Path(drawn.plan.parts) / "000000004-000000008.ledger"
    ledger.unlink() if content is None else ledger.write_bytes(content)
    assert ledger_of(drawn.plan) is None
    summary = concat(drawn.plan, drawn.file, Concat(), print)
    assert summary is not None
    assert summary.ledger is None
