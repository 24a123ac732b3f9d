"""A live output that has a comment says in it that it is redacted."""

from __future__ import annotations

from pathlib import Path

import av
import pytest
from sending import Feed

from mpflow.spec import REDACTED


@pytest.mark.parametrize("ending", ["mkv", "mp4", "flv"])
def test_the_note_is_in_the_stream(ending: str, tmp_path: Path) -> None:
    output = tmp_path / f"out.{ending}"
    feed = Feed(str(output), {"note": REDACTED}, late=0.0)
    with feed.running():
        feed.send(1)
        feed.finish()
    with av.open(str(output)) as container:
        assert REDACTED in container.metadata.values()
