"""Makes the machine look short of memory to a supervisor, as long as a file is there.

Python imports this by itself when it starts. ``MPFLOW_TEST_SHORT`` names the file.
"""

import os
import sys
from pathlib import Path


def press(file: Path) -> None:
    from mpflow.processes import MachineWatch

    look = MachineWatch._memory
    MachineWatch._memory = lambda self: 0.99 if file.exists() else min(0.1, look(self))


wanted = os.environ.get("MPFLOW_TEST_SHORT")
if wanted and "mpflow.supervisor" in sys.orig_argv:
    press(Path(wanted))
