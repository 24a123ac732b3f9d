"""Can this machine run mpflow? Each check does what a run would do, and says a cure.

A check is a plain function that gives one or more results; one that breaks is itself a result.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from importlib import metadata
from typing import TYPE_CHECKING

from mpflow.errors import EXIT_INTERNAL, EXIT_OK, EXIT_RESOURCES, MpflowError
from mpflow.graph import comfortable_slots, minimum_slots, plan_workers
from mpflow.hostfacts import ffmpeg_versions
from mpflow.machine import core_budget, memory_available, quota_cores, shared_memory_free

if TYPE_CHECKING:
    from mpflow.shm import Geometry

MIB = 1 << 20
PICTURES = {"360p": (640, 360), "720p": (1280, 720), "1080p": (1920, 1080), "4K": (3840, 2160)}
SMALLEST, ORDINARY = "360p", "1080p"
COVERING = "redact"
"""The preset whose ring is tried."""

LITTLE_MEMORY = 1024 * MIB
GPU_ENCODERS = ("h264_nvenc", "hevc_nvenc", "av1_nvenc")
ENCODERS = ("libx264", "libx265", "libsvtav1", "libvpx-vp9", "ffv1", *GPU_ENCODERS)


class Verdict(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at; ``resource`` marks what more memory or disk would cure."""

    name: str
    verdict: Verdict
    text: str
    cure: str = ""
    resource: bool = False


def examine() -> Iterator[Check]:
    """Do every check, each as soon as it is asked for."""
    for name, look in _CHECKS.items():
        try:
            yield from look()
        except MpflowError as error:
            yield Check(name, Verdict.FAIL, error.what, error.cure)
        except Exception as error:  # noqa: BLE001 - a check that breaks is what doctor is for
            yield Check(name, Verdict.FAIL, f"{type(error).__name__}: {error}")


def exit_status(checks: Sequence[Check]) -> int:
    """0 without failures; 6 when only resources are short; else 1."""
    failures = [check for check in checks if check.verdict is Verdict.FAIL]
    if not failures:
        return EXIT_OK
    return EXIT_RESOURCES if all(check.resource for check in failures) else EXIT_INTERNAL


def _system() -> Iterator[Check]:
    text = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    able = sys.platform == "linux" and hasattr(os, "pidfd_open")
    verdict = Verdict.OK if able else Verdict.FAIL
    yield Check("system", verdict, text, "" if able else "use Linux 5.3 or newer")


def _shared_memory() -> Iterator[Check]:
    """Make a ring of an ordinary run's size, every byte of it backed by memory."""
    from mpflow.provision import SHM_SHARE
    from mpflow.shm import NoSpace, Segment

    free = shared_memory_free()
    usable = int(free * SHM_SHARE)
    likes, least = _rings(ORDINARY)[1], _rings(SMALLEST)[0]
    with suppress(NoSpace):
        if likes.total_bytes <= usable:
            Segment.create(likes).close()
            ring = f"{_mib(likes.total_bytes)} MiB for {ORDINARY} allocated and given back"
            yield Check("shared memory", Verdict.OK, f"{ring}, {free // MIB} MiB free")
            return
    yield Check(
        "shared memory",
        Verdict.FAIL if least.total_bytes > usable else Verdict.WARN,
        f"{free // MIB} MiB are free in /dev/shm, {usable // MIB} of them for a run. It needs"
        f" {'; '.join(map(_needs, PICTURES))}; with less than it likes it may run slower",
        "enlarge it (docker run --shm-size=1g; mount -o remount,size=1g /dev/shm)",
        resource=True,
    )


def _needs(picture: str) -> str:
    least, best = (_mib(ring.total_bytes) for ring in _rings(picture))
    return f"{least} MiB for {picture} and likes {best}"


def _rings(picture: str) -> tuple[Geometry, Geometry]:
    """The smallest ring of a run that covers faces, and the one that it likes best."""
    from mpflow.config import resolve
    from mpflow.importer import build, demand_of
    from mpflow.picture import PictureLayout
    from mpflow.provision import ring_of
    from mpflow.stage import StageContext

    spec = resolve(COVERING, environ={}).spec
    plans = [plan.spec for plan in plan_workers(spec)]
    stages = [build(plan, StageContext(plan.name, workers=plan.workers)) for plan in plans]
    demands = [demand_of(stage) for stage in stages]
    layout = PictureLayout.of("yuv420p", *PICTURES[picture])
    least, best = (
        ring_of(layout, spec, demands, slots(demands))
        for slots in (minimum_slots, comfortable_slots)
    )
    return least, best


def _mib(size: int) -> int:
    """Bytes in MiB, rounded up."""
    return -(-size // MIB)


def _memory() -> Iterator[Check]:
    available = memory_available()
    text = f"{available / MIB:.0f} MiB available"
    if available < LITTLE_MEMORY:
        cure = "raise the limit, or use smaller batches and --memory"
        yield Check("memory", Verdict.WARN, text, cure, resource=True)
    else:
        yield Check("memory", Verdict.OK, text)


def _cores() -> Iterator[Check]:
    affinity, quota = len(os.sched_getaffinity(0)), quota_cores()
    limits = f"{os.cpu_count()} in the machine, {affinity} by affinity"
    if quota is not None:
        limits += f", {quota} by the cgroup's quota"
    yield Check("threads", Verdict.OK, f"at most {core_budget()} at work ({limits})")


def _ffmpeg() -> Iterator[Check]:
    import av

    versions = ", ".join(f"{name} {number}" for name, number in ffmpeg_versions().items())
    yield Check("FFmpeg", Verdict.OK, f"PyAV {av.__version__} with {versions}")
    have = [
        name
        for name in ENCODERS
        if name in av.codecs_available and (name not in GPU_ENCODERS or _opens(name))
    ]
    if "libx264" in have:
        yield Check("encoders", Verdict.OK, ", ".join(have))
    else:
        yield Check(
            "encoders",
            Verdict.FAIL,
            f"libx264 is missing; there are {', '.join(have) or 'none of ours'}",
            "install PyAV's wheel (pip install --force-reinstall --no-deps av), or use --codec",
        )


def _opens(encoder: str) -> bool:
    """Whether a GPU's encoder really starts: it is built in even where there is no GPU."""
    import av

    try:
        context = av.Codec(encoder, "w").create("video")
        context.width, context.height, context.pix_fmt = 256, 256, "yuv420p"
        context.time_base = Fraction(1, 25)
        context.open()
    except (av.FFmpegError, ValueError, RuntimeError):
        return False
    return True


def _opencv() -> Iterator[Check]:
    try:
        import cv2
    except ImportError as error:
        cure = (
            "apt-get install libgl1, or pip install opencv-python-headless instead of opencv-python"
            if "libGL" in str(error)
            else "pip install --force-reinstall opencv-python"
        )
        yield Check("OpenCV", Verdict.FAIL, f"cv2 does not load: {error}", cure)
        return
    twice = _installed("opencv-python", "opencv-python-headless", "opencv-contrib-python")
    if len(twice) > 1:
        cure = f"pip uninstall {' '.join(twice)}, then install one of them"
        yield Check("OpenCV", Verdict.WARN, f"{' and '.join(twice)} overwrite each other", cure)
    else:
        yield Check("OpenCV", Verdict.OK, f"cv2 {cv2.__version__}")


def _onnxruntime() -> Iterator[Check]:
    installs = _installed("onnxruntime", "onnxruntime-gpu")
    if len(installs) > 1:
        yield Check(
            "onnxruntime",
            Verdict.FAIL,
            f"{' and '.join(installs)} are both installed and overwrite each other",
            "pip uninstall onnxruntime onnxruntime-gpu, then install the one you want",
        )
        return
    try:
        import onnxruntime
    except ImportError as error:
        cure = "pip install 'mpflow-pipeline[cpu]', or [gpu] for CUDA"
        yield Check("onnxruntime", Verdict.FAIL, f"it does not load: {error}", cure)
        return
    providers = onnxruntime.get_available_providers()
    text = f"{onnxruntime.__version__} with {', '.join(providers)}"
    if installs == ["onnxruntime-gpu"] and "CUDAExecutionProvider" not in providers:
        cure = "check the CUDA libraries that it needs (ldd on its provider library)"
        yield Check("onnxruntime", Verdict.WARN, f"{text}; CUDA is missing", cure)
    else:
        yield Check("onnxruntime", Verdict.OK, text)


def _models() -> Iterator[Check]:
    from mpflow.jobs.models import models_of_mpflow
    from mpflow.models.store import Condition, ModelStore

    for item in ModelStore().verify(models_of_mpflow()):
        name, where = f"model {item.name}", f"{item.condition} ({item.path})"
        cure = f"mpflow models pull {item.name}"
        if item.condition is Condition.PRESENT:
            yield Check(name, Verdict.OK, where)
        elif item.condition is Condition.MISSING:
            yield Check(name, Verdict.WARN, f"{where}; fetched when first used", cure)
        else:
            yield Check(name, Verdict.FAIL, where, cure)


def _installed(*names: str) -> list[str]:
    """Which of these distributions are installed."""
    found = {
        str(one.metadata["Name"]).lower().replace("_", "-") for one in metadata.distributions()
    }
    return [name for name in names if name in found]


_CHECKS: dict[str, Callable[[], Iterator[Check]]] = {
    "system": _system,
    "shared memory": _shared_memory,
    "memory": _memory,
    "threads": _cores,
    "FFmpeg": _ffmpeg,
    "OpenCV": _opencv,
    "onnxruntime": _onnxruntime,
    "models": _models,
}
