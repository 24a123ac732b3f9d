"""A live stream in which faces were made says so where its container has tags."""

from __future__ import annotations

from pathlib import Path

import pytest
from sending import Feed

from mpflow.provenance.declared import read_declared
from mpflow.spec import MADE

COMPOSITE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeSynthetic"


@pytest.mark.parametrize("ending", ["flv", "mkv", "mp4", "nut", "ts"])
def test_a_stream_says_that_faces_in_it_were_made(ending: str, tmp_path: Path) -> None:
    output = tmp_path / f"out.{ending}"
    feed = Feed(str(output), {"made": "composite"}, late=0.0)
    with feed.running():
        feed.send(0.3)
        feed.finish()
    said = read_declared(output)
    lost = [text for text in feed.warnings if "mpegts cannot keep" in text]
    if ending == "ts":
        assert (said.comment, said.types, len(lost)) == ("", [], 1)
        return
    assert (said.comment, said.types, lost) == (MADE, [COMPOSITE], [])
    assert said.label is not None
    assert said.label.is_valid
