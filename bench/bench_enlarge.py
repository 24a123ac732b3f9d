"""What the super-resolution networks of the store are worth against bicubic, by PSNR.

Five photos of the store are reduced by the mean of 2x2 or 4x4 pixels and enlarged again: by
OpenCV's bicubic, and by the network with pixels as 0..255 and as 0..1. PSNR is against the photo,
over all channels. Nothing here depends on how busy the machine is.

    python bench/bench_enlarge.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from facts import machine_facts, write_results
from numpy.typing import NDArray

from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore

PHOTOS = ("astronaut", "group-photo", "person-a-1", "person-b-2", "impostor-1")
SCALES = (2, 4)
_RESULTS = Path(__file__).parent / "results" / "enlarge.json"

Picture = NDArray[np.uint8]


def main() -> None:
    """Print a row for each photo and scale, and keep them."""
    store = ModelStore()
    rows = [row for scale in SCALES for row in _rows(store, scale)]
    for row in rows:
        print(row)
    write_results(
        _RESULTS, {"machine": machine_facts(["onnxruntime", "opencv-python"]), "rows": rows}
    )


def _rows(store: ModelStore, scale: int) -> list[dict[str, Any]]:
    session, _ = open_session(store.path(f"esrgan-slim-x{scale}"), device="cpu")
    rows = []
    for name in PHOTOS:
        photo = cv2.imread(str(store.path(name)))
        assert photo is not None
        height, width = (side // scale * scale for side in photo.shape[:2])
        large = photo[:height, :width]
        small = cv2.resize(large, (width // scale, height // scale), interpolation=cv2.INTER_AREA)
        bicubic = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
        enlarged = {f"network_{top}": _enlarged(session, small, top) for top in (255, 1)}
        made = {"bicubic": bicubic, **enlarged}
        psnr = {key: round(cv2.PSNR(each, large), 2) for key, each in made.items()}
        rows.append({"photo": name, "scale": scale, "psnr_db": psnr})
    return rows


def _enlarged(session: Any, small: Any, top: int) -> Picture:
    """A picture through the network, whose pixels go up to ``top``."""
    factor = np.float32(top / 255)
    tensor = small[None, ..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) * factor
    (found,) = session.run(None, {session.get_inputs()[0].name: tensor})
    pixels: NDArray[np.float32] = found[0, ::-1].transpose(1, 2, 0) / factor
    return pixels.round().clip(0, 255).astype(np.uint8)


if __name__ == "__main__":
    main()
