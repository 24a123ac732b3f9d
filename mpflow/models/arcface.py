"""An ArcFace file of one's own: a face as numbers, without insightface.

It takes the ArcFace crop as RGB, less 127.5, by 127.5 (Deng, Guo, Xue, Zafeiriou: "ArcFace", 2019;
insightface's w600k_r50.onnx and its kin), and gives 512 numbers, not of length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpflow.models.align import CROP
from mpflow.models.crop_network import tensor_of
from mpflow.models.description import Pixels
from mpflow.models.detections import Floats
from mpflow.models.fitting import fit
from mpflow.models.sockets import Origin, socket_of

PIXELS = Pixels(colour="rgb", mean=(127.5,) * 3, std=(127.5,) * 3)


class ArcFaceFile:
    """Embeddings of ``length`` numbers by a session of such a file; ModelError if it is none."""

    size = CROP

    def __init__(self, session: Any, origin: Origin) -> None:
        socket = socket_of(session, PIXELS, origin)
        sides = socket.width or CROP, socket.height or CROP
        (given,) = session.get_outputs()[:1]
        length = given.shape[-1] if given.shape else None
        if sides != (CROP, CROP) or not isinstance(length, int) or len(given.shape) != 2:
            raise origin.error(
                f"it takes {sides[0]}x{sides[1]} and gives {given.shape}: no ArcFace model",
                f"it has to take [n, 3, {CROP}, {CROP}] and give one row of numbers each",
            )
        self.length = length
        names = {"embedding": [given.name]}
        layouts = [{"embedding": [(length,)]}]
        self._network = fit(session, socket, origin, sides=sides, layouts=layouts, names=names)

    def raw(self, crops: Sequence[NDArray[np.uint8]]) -> Floats:
        """Embeddings [n, length] as the network gives them, for BGR crops [112, 112, 3]."""
        if not crops:
            return np.zeros((0, self.length), np.float32)
        (found,) = self._network.run(tensor_of(np.stack(crops), PIXELS))["embedding"]
        return found
