"""What of a face may change, as networks see it: a hand before it stays, and so do its glasses.

    face's five points -> a crop as the network takes it -> network -> mask
                       -> into the pixels of the swapped crop

One call of each network does for all faces of a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import cv2
import numpy as np

from mpflow.models.align import matrix_to
from mpflow.models.detections import Floats
from mpflow.models.sessions import SessionFacts, open_session
from mpflow.models.sockets import Origin
from mpflow.models.warp import warped
from mpflow.swapping.beside import Swap
from mpflow.swapping.contract import Picture
from mpflow.swapping.maskfile import MaskNetwork, load_masking
from mpflow.swapping.masks import FULL
from mpflow.tokens import Face

if TYPE_CHECKING:
    from mpflow.frame import Frame

_POINTS = 5


class Choice(Protocol):
    """What the options of a stage that asks for masks say; see mpflow.stages.blend."""

    @property
    def device(self) -> str:
        """See mpflow.models.sessions."""

    @property
    def providers(self) -> tuple[str, ...]:
        """See mpflow.models.sessions."""


def open_hiding(
    path: Path, choice: Choice, *, threads: int, warn: Callable[[str], None]
) -> tuple[Hiding, SessionFacts]:
    """The network that a file describes, and the facts of how it runs.

    Raises ConfigError for a wrong description, ModelError for a file that is not there or does not
    fit.
    """
    described = load_masking(path)
    file = described.found(path)
    session, facts = open_session(
        file, device=choice.device, providers=choice.providers, threads=threads, warn=warn
    )
    return Hiding(MaskNetwork(session, described, Origin(path, file))), facts


class Hiding:
    """Asks one network where faces may change."""

    def __init__(self, network: MaskNetwork) -> None:
        self._network = network

    def masks(self, frame: Frame, swaps: Sequence[Swap]) -> list[Picture | None]:
        """A mask [s, s], 0..255, in the crop of each swap; None where its face has no five
        points."""
        able = [number for number, swap in enumerate(swaps) if _has_points(swap.face)]
        found: list[Picture | None] = [None] * len(swaps)
        if not able:
            return found
        described = self._network.described
        side = described.input.side
        ways = [matrix_to(swaps[n].face.points, described.template, side) for n in able]
        crops = [warped(frame, way, (side, side), repeat_edge=True) for way in ways]
        shares = self._network.shares(np.array(crops))
        for number, way, share in zip(able, ways, shares, strict=True):
            found[number] = _moved(share, way, swaps[number])
        return found


def _moved(share: Floats, way: Floats, swap: Swap) -> Picture:
    """A mask from the network's crop into the swapped one; beyond its edge it goes on as there."""
    back = np.vstack([cv2.invertAffineTransform(way.astype(np.float64)), (0, 0, 1)])
    across = swap.matrix.astype(np.float64) @ back
    grey = np.rint(share * FULL).astype(np.uint8)
    size = swap.side, swap.side
    moved = cv2.warpAffine(grey, across, size, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(moved, np.uint8)


def _has_points(face: Face) -> bool:
    return len(face.points) == _POINTS and len({*face.points}) > 1
