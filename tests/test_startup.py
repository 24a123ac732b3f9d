"""What is loaded before the first frame: each library costs time at every start."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "cv2", "av", "onnxruntime", "rich", "yaml")


@pytest.mark.parametrize("module", ["mpflow.supervisor", "mpflow.session", "mpflow.cli"])
def test_what_only_watches_or_asks_loads_no_heavy_library(module: str) -> None:
    program = f"import sys, {module}; print(*sorted(set(sys.modules) & {set(HEAVY)!r}))"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == []
