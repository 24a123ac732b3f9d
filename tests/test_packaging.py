"""One package from the owner's folders: links, wheel contents, and the floors between rooms."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["shm", "stages", "configs", "cli.py"])
def test_the_owners_folders_are_relative_links_inside_the_package(name: str) -> None:
    link = ROOT / "mpflow" / name
    assert link.is_symlink()
    assert link.readlink() == Path("..") / name
    assert not (ROOT / name).is_symlink()


@pytest.mark.slow
def test_a_wheel_holds_every_room_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(tmp_path), str(ROOT)],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith("mpflow_pipeline-")
    names = zipfile.ZipFile(wheel).namelist()
    inside = {name for name in names if ".dist-info/" not in name}
    assert all(name.startswith("mpflow/") for name in inside)
    tracked = subprocess.run(
        ["git", "ls-files", "mpflow", "shm", "stages", "configs", "cli.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    wanted = {
        name if name.startswith("mpflow/") else f"mpflow/{name}"
        for name in tracked
        if not (ROOT / name).is_symlink()
    }
    assert wanted, "not a git checkout"
    assert wanted - inside == set()
    assert not any(name.startswith(("mpflow/tests", "mpflow/bench")) for name in inside)


def test_imports_point_down_only() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "setup.cfg", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
