"""The faces sink with a trap: see trap_stages. As frame ``END`` it is at its last work."""

from __future__ import annotations

from trap_stages import Trap

from mpflow.frame import Frame
from mpflow.spec import SinkSummary
from mpflow.stages.faces import Faces, FacesOptions
from mpflow.tokens import Token

END = 9999


class TrappedFacesOptions(FacesOptions, frozen=True):
    """See trap_stages.TrapOptions."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""


class TrappedFaces(Trap, Faces):
    """Faces with a trap, behind its work on a frame, and behind its very last."""

    Options = TrappedFacesOptions
    options: TrappedFacesOptions

    def write(self, token: Token, frame: Frame) -> None:
        super().write(token, frame)
        self.spring(token.seq)

    def finish(self, *, complete: bool) -> SinkSummary:
        summary = super().finish(complete=complete)
        if complete:
            self.spring(END)
        return summary
