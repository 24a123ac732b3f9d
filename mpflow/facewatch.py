"""Whether a camera still sees anybody: how long, by the frames' own time, no face has been there.

A frame without a face is no failure; an hour of them may be a turned camera.
"""

from __future__ import annotations

from mpflow.tokens import Token


class FaceWatch:
    """Looks at each frame; ``seconds`` 0 never says anything."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._told = False

    def look(self, token: Token) -> str | None:
        """A sentence, once for each stretch of time without a face that is too long."""
        if not self._seconds:
            return None
        now = token.time
        if now is None:
            return None
        if token.faces or self._since is None or now < self._since:
            self._since, self._told = now, False
            return None
        if self._told or now - self._since < self._seconds:
            return None
        self._told = True
        return f"no face for {now - self._since:.1f} s, up to {now:.1f} s into the video"
