"""What the first swap of an installation prints: that its output is marked, and who has agreed.

It is printed once, on standard error, and waits for no answer: a machine without a screen goes on.
"""

from __future__ import annotations

from pathlib import Path

import platformdirs

from mpflow.config import Resolved
from mpflow.console.text import say
from mpflow.making import makes_faces

NOTICE = """\
mpflow: this run makes faces. What it makes says so, always: in the tags of the file, in
  NAME.EXT.mpflow.json beside it, and by a mark in the picture that is not seen and that outlives
  coding and scaling. `mpflow verify FILE` reads all three.
  The people whose photos you give, and those whom the video shows, must have agreed, or the law
  must allow it without. Do not use this to deceive.
  (Printed once; --accept-notice or MPFLOW_ACCEPT_NOTICE=1 prints nothing.)"""

_TOLD = "swap-notice"


def tell_once(resolved: Resolved, *, accepted: bool) -> None:
    """Print the notice before the first run that makes faces; note that it was, or need not be."""
    if not makes_faces(resolved.spec) or (told := _place()).exists():
        return
    if not accepted:
        say(NOTICE)
    try:
        told.parent.mkdir(parents=True, exist_ok=True)
        told.touch()
    except OSError:
        return  # it is printed again, and nothing else is worse for it


def _place() -> Path:
    return platformdirs.user_state_path("mpflow") / _TOLD
