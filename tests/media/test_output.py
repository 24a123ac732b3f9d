"""Names, renames, full disks and killed runs: nothing half-written ever has the final name."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import clips
import pytest
from clips import Clip

from mpflow.errors import EXIT_RESOURCES, ConfigError, OutputError, ResourceError
from mpflow.media import output as output_module
from mpflow.media.output import OutputFile, output_error, rename_new
from mpflow.media.salvage import playable
from mpflow.spec import JobSpec, partial_name

SUPPORT = str(Path(clips.__file__).parent)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return clips.make(tmp_path / "in.mp4", Clip(pts=range(3)))


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_partial_name_keeps_the_extension() -> None:
    assert partial_name(Path("/a/b.c.mp4")) == Path("/a/b.c.partial.mp4")


def test_output_that_is_the_input_is_refused(source: Path) -> None:
    before = source.read_bytes()
    for name in (source, source.parent / "link.mp4"):
        if name != source:
            name.symlink_to(source)
        with pytest.raises(OutputError, match="input itself"):
            clips.convert(source, name, overwrite=True)
    assert source.read_bytes() == before


def test_output_that_is_a_directory_is_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(OutputError, match="is a directory"):
        clips.convert(source, tmp_path / "folder.mp4")


def test_missing_directory_is_named_with_the_cure(source: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no directory") as caught:
        clips.convert(source, tmp_path / "gone" / "out.mp4")
    assert "mkdir -p" in caught.value.cure


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("unshare"), reason="needs a user")
def test_directory_that_may_not_be_written_is_named(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    if os.geteuid() == 0:
        error = output_error(folder / "out.mp4", PermissionError(errno.EACCES, "denied"))
        assert isinstance(error, OutputError)
        return
    with pytest.raises(OutputError, match="may not be written"):
        clips.convert(source, folder / "out.mp4")


@pytest.mark.parametrize("name", ["out", "out.xyz", "out.png", "out.m3u8", "out.txt"])
def test_extension_that_is_no_video_file_is_named(source: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"out") as caught:
        clips.convert(source, tmp_path / name)
    assert ".mp4" in caught.value.cure
    assert left(tmp_path) == ["in.mp4"]


def test_two_runs_cannot_write_one_output(source: Path, tmp_path: Path) -> None:
    first = OutputFile(JobSpec("1", str(source), str(tmp_path / "out.mp4")))
    first.prepare()
    with pytest.raises(OutputError, match="another run"):
        clips.convert(source, tmp_path / "out.mp4")
    first.discard()
    clips.convert(source, tmp_path / "out.mp4")


def test_a_run_that_cannot_start_leaves_an_earlier_partial_file_alone(
    source: Path, tmp_path: Path
) -> None:
    (tmp_path / "out.partial.mp4").write_bytes(b"earlier")
    with pytest.raises(ConfigError):
        clips.convert(source, tmp_path / "out.mp4", encoder_options={"tune": "nonsense"})
    assert (tmp_path / "out.partial.mp4").read_bytes() == b"earlier"


def test_output_that_appears_meanwhile_is_not_replaced(source: Path, tmp_path: Path) -> None:
    file = OutputFile(JobSpec("1", str(source), str(tmp_path / "out.mp4")))
    file.prepare()
    file.partial.write_bytes(b"new")
    file.final.write_bytes(b"theirs")
    with pytest.raises(OutputError, match="exists already"):
        file.commit()
    assert file.final.read_bytes() == b"theirs"
    assert file.partial.read_bytes() == b"new"


def test_rename_never_replaces_even_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(output_module.os, "link", no_links)
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
    with pytest.raises(FileExistsError):
        rename_new(tmp_path / "a", tmp_path / "b")
    rename_new(tmp_path / "c", tmp_path / "d")
    assert left(tmp_path) == ["a", "b", "d"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_no_room_is_a_resource_error_with_the_cure(number: int) -> None:
    error = output_error(Path("/a/b.mp4"), OSError(number, "no room"))
    assert isinstance(error, ResourceError)
    assert error.exit_status == EXIT_RESOURCES
    assert "free some space" in error.cure


FULL_DISK = """
import sys, json
sys.path.insert(0, sys.argv[1])
import clips
from pathlib import Path
from mpflow.errors import MpflowError
from mpflow.media.salvage import playable
source, folder, options = Path(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4])
try:
    clips.convert(source, folder / options.pop("name"), **options)
    said = {"status": 0}
except MpflowError as error:
    said = {"status": error.exit_status, "what": error.what, "cure": error.cure}
said["left"] = {path.name: playable(path) for path in folder.iterdir()}
print(json.dumps(said))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
@pytest.mark.parametrize("name", ["out.mp4", "out.mkv"])
def test_full_disk_is_said_and_leaves_nothing_under_the_final_name(
    tmp_path: Path, name: str
) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(60), size=(160, 120)))
    folder = tmp_path / "small"
    folder.mkdir()
    options = json.dumps({"name": name, "codec": "libx264", "encoder_options": {"qp": "0"}})
    script = f'mount -t tmpfs -o size=200k tmpfs "{folder}" && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-c", FULL_DISK]
    done = subprocess.run(
        [*command, SUPPORT, str(source), str(folder), options],
        capture_output=True,
        text=True,
        check=False,
    )
    if "permitted" in done.stderr:
        pytest.skip("this machine does not let a test mount a disk")
    said = json.loads(done.stdout)
    assert said["status"] == EXIT_RESOURCES, said
    assert "disk is full" in said["what"]
    assert str(folder) in said["what"]
    assert said["cure"]
    assert name not in said["left"]
    assert all(frames > 0 for frames in said["left"].values())


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import clips
from pathlib import Path
from mpflow.stages.encode import Encode
write = Encode.write
count = 0
def killed(self, token, frame):
    global count
    write(self, token, frame)
    count += 1
    if count == int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)
Encode.write = killed
clips.convert(Path(sys.argv[2]), Path(sys.argv[3]), encoder_options={"g": "25"})
"""


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv"])
def test_killed_run_leaves_a_part_that_plays_with_exact_stamps(tmp_path: Path, suffix: str) -> None:
    source = clips.make_rich(tmp_path / "in.mp4", Clip(pts=range(3, 203), rate=25))
    output = tmp_path / f"out.{suffix}"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, SUPPORT, str(source), str(output), "190"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == -9
    assert not output.exists()
    partial = partial_name(output)
    # two chunks of 50 are there for certain, and the muxer may keep back one group of 25
    assert playable(partial) >= 75
    if suffix != "mkv":
        stamps = clips.times(partial)
        assert stamps == clips.times(source)[: len(stamps)]


def test_nothing_that_plays_counts_as_zero_frames(tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "words.mp4").write_text("words")
    for path in (tmp_path / "empty.mp4", tmp_path / "words.mp4", tmp_path / "gone.mp4", tmp_path):
        assert playable(path) == 0
