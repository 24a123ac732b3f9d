"""A live swap, from a sender over TCP to a listener over RTMP: another face, labelled, marked."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import av
import fits
import numpy as np
import pytest
import scenes
from catchers import free_port, wait_until_bound
from commands import LIMIT_S, command_line, environment
from filming import HEIGHT, child

from mpflow.models.align import crop
from mpflow.models.sessions import open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore
from mpflow.provenance.declared import read_declared
from mpflow.provenance.reading import read_mark

SECONDS, OLDEST_S = 6, 2.0
LABEL = slice(0, HEIGHT // 8), slice(0, HEIGHT // 3)
"""The rows and columns in the corner where the label begins."""


@pytest.mark.slow
def test_a_face_is_swapped_on_the_line_and_label_and_mark_say_so(
    model_store: ModelStore, tmp_path: Path
) -> None:
    film, photo = model_store.path("carphone"), model_store.path("astronaut")
    inlet = f"tcp://127.0.0.1:{free_port()}"
    port = free_port()
    outlet, kept = f"rtmp://127.0.0.1:{port}/live/key", tmp_path / "kept.flv"
    words = ["live", "-i", inlet, "--listen", "-o", outlet, "--source", str(photo)]
    words += ["--accept-notice", "--retry", "0", "--report", "report.json"]
    words += ["--name", f"swap-{os.getpid()}", "--max-latency", str(OLDEST_S)]
    with child("keep", outlet, kept) as keeper:
        wait_until_bound(port)
        with child("film", film, inlet, str(SECONDS)):
            done = subprocess.run(
                command_line(*words),
                cwd=tmp_path,
                env=environment(),
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        assert keeper.wait(LIMIT_S) == 0, done.stderr
    (job,) = json.loads((tmp_path / "report.json").read_text())["jobs"]
    report = job["report"]
    assert report["ledger"]["delivered"] > 0
    before, after = pictures(film), pictures(kept)
    assert after, done.stderr
    corner = [picture[LABEL].astype(int) for picture in after]
    plain = before[0][LABEL].astype(int)
    assert all(np.abs(each - plain).mean() > 10 for each in corner)
    assert all(each.max() > 200 for each in corner), "white on a darker ground"
    sface = SFace(open_session(model_store.path("sface"), device="cpu")[0])
    wanted = embedded(model_store, sface, scenes.read(model_store, "astronaut"))
    target = embedded(model_store, sface, before[0])
    for picture in after[len(after) // 2 :: 20]:
        now = embedded(model_store, sface, picture)
        assert now @ wanted > now @ target
    assert read_declared(kept).label is not None
    mark = read_mark(kept)
    assert mark is not None
    assert mark.kind == "composite"


def pictures(path: Path) -> list[scenes.Picture]:
    with av.open(str(path)) as container:
        return [
            frame.reformat(352, 288).to_ndarray(format="bgr24")
            for frame in container.decode(video=0)
        ]


def embedded(store: ModelStore, sface: SFace, picture: scenes.Picture) -> np.ndarray:
    """The one face of a picture."""
    (face,) = fits.faces_of(store, picture)
    return sface.embed([crop(picture, np.array(face.points, np.float32))])[0]
