"""What is loaded before the first frame: each library costs time at every start."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "cv2", "av", "onnxruntime", "rich")


@pytest.mark.parametrize(
    "program",
    [
        "import mpflow.supervisor",
        "import mpflow.session",
        "import mpflow.cli",
        "import mpflow.config; mpflow.config.resolve('redact')",
        "import mpflow.config; mpflow.config.resolve('detect-only')",
    ],
)
def test_what_only_watches_or_asks_loads_no_heavy_library(program: str) -> None:
    asked = f"{program}; import sys; print(*sorted(set(sys.modules) & {set(HEAVY)!r}))"
    ended = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == []
