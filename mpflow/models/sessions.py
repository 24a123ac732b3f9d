"""Open an onnxruntime session on the device that was asked for, and say what really runs.

    device "cpu"      CPU
    device "cuda:N"   that GPU, or an error: whoever names a device wants no other
    device "auto"     the first GPU if onnxruntime can use it, else CPU, and the facts say why
    providers         exactly these execution providers, in this order, or an error

onnxruntime is imported here and nowhere else, so that everything but inference works without it.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from mpflow.errors import ConfigError, ModelError
from mpflow.models.engines import Engines

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"
_ON_GPU = frozenset({CUDA, TENSORRT})

Provider = tuple[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What runs: for the report.

    ``providers`` are those of the session, in order of preference; ``device`` is the one that
    the first of them uses; ``fallback`` says why it is not the one hoped for, "" if it is.
    """

    device: str
    providers: tuple[str, ...]
    threads: int
    fallback: str = ""


def open_session(  # noqa: PLR0913 - one name for each choice
    path: Path,
    *,
    device: str = "auto",
    providers: Sequence[str] = (),
    threads: int = 1,
    warn: Callable[[str], None] | None = None,
    engines: Engines | None = None,
) -> tuple[Any, SessionFacts]:
    """Load the ONNX file at ``path``; the session and the facts of how it runs.

    ``warn`` is told, once, if a session falls back. ``engines`` says where a provider that builds
    engines keeps them; that is done here, and may take minutes. Raises ModelError if onnxruntime
    is not installed, the file is no model it can run, or the device or a provider cannot be had;
    ConfigError for a device that is none.
    """
    runtime = _runtime()
    number = _gpu_number(device)
    available = runtime.get_available_providers()
    if providers:
        wanted, fallback = _named(providers, available, number), ""
    else:
        wanted, fallback = _for_device(device, available, number)
    with _engines_kept(runtime, path, wanted, engines):
        session, failure = _open(runtime, path, wanted, threads)
    used = tuple(session.get_providers())
    lost = next((name for name, _ in wanted if name not in used), None)
    if lost is not None:
        what = f"{lost} could not be started{failure}"
        if providers or device != "auto":
            raise ModelError(what, cure=_GPU_CURE)
        fallback = f"{what}, so {used[0]} is used"
    if fallback and warn is not None:
        warn(fallback)
    runs_on = f"cuda:{number}" if used[0] in _ON_GPU else "cpu"
    return session, SessionFacts(runs_on, used, threads, fallback)


_GPU_CURE = (
    "install mpflow-pipeline[gpu] instead of [cpu], look at the driver with nvidia-smi, "
    "or use --device cpu"
)


def _runtime() -> ModuleType:
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError(
            f"onnxruntime cannot be imported: {error}",
            cure="pip install 'mpflow-pipeline[cpu]', or [gpu] on a machine with an NVIDIA GPU",
        ) from error
    runtime: ModuleType = onnxruntime
    return runtime


def _gpu_number(device: str) -> int:
    """The N of ``cuda:N``; 0 for a device that names none."""
    found = re.fullmatch(r"auto|cpu|cuda(?::(\d+))?", device)
    if found is None:
        raise ConfigError(f"there is no device {device!r}", cure="auto, cpu, cuda or cuda:N")
    return int(found[1] or 0)


def _named(providers: Sequence[str], available: Sequence[str], number: int) -> list[Provider]:
    """Exactly the providers asked for."""
    for name in providers:
        if name not in available:
            raise ModelError(
                f"the installed onnxruntime has no {name}",
                cure=f"it has: {', '.join(available)}",
            )
    return [(name, _options(name, number)) for name in providers]


def _for_device(device: str, available: Sequence[str], number: int) -> tuple[list[Provider], str]:
    """The providers for a device, and why it is the CPU where a GPU was hoped for."""
    cpu: Provider = (CPU, {})
    if device == "cpu":
        return [cpu], ""
    if CUDA in available:
        return [(CUDA, _options(CUDA, number)), cpu], ""
    if device != "auto":
        raise ModelError(f"the installed onnxruntime cannot use {device}", cure=_GPU_CURE)
    if gpu_present():
        return [cpu], (
            "this machine has an NVIDIA GPU, but the installed onnxruntime has no "
            f"{CUDA}, so {CPU} is used (pip install 'mpflow-pipeline[gpu]' in a fresh environment)"
        )
    return [cpu], ""


def gpu_present(root: Path = Path("/")) -> bool:
    """Whether a driver shows an NVIDIA GPU to this process."""
    return any((root / "proc/driver/nvidia/gpus").glob("*")) or (root / "dev/nvidia0").exists()


def _options(provider: str, number: int) -> dict[str, str]:
    """Options of a provider that runs on GPU ``number``.

    Memory grows by what is asked for, as several workers share a GPU; cuDNN picks kernels by
    rule instead of by trial, because a trial at each new batch size would stall the pipeline.
    """
    if provider == CUDA:
        return {
            "device_id": str(number),
            "arena_extend_strategy": "kSameAsRequested",
            "cudnn_conv_algo_search": "HEURISTIC",
        }
    if provider == TENSORRT:
        return {"device_id": str(number)}
    return {}


@contextlib.contextmanager
def _engines_kept(
    runtime: ModuleType, path: Path, wanted: Sequence[Provider], engines: Engines | None
) -> Iterator[None]:
    """Give a provider that builds engines its range of shapes and its folder, and the time."""
    builder = next((options for name, options in wanted if name == TENSORRT), None)
    if builder is None or engines is None:
        yield
        return
    with contextlib.suppress(Exception):  # a file that cannot be read is told of when it is opened
        plain = runtime.InferenceSession(str(path), _settings(runtime, 1), providers=[CPU])
        builder.update(engines.options_for(plain.get_inputs()))
    with engines.building():
        yield


def _open(
    runtime: ModuleType, path: Path, wanted: Sequence[Provider], threads: int
) -> tuple[Any, str]:
    """Make the session; also, after a provider that could not be started, its reason.

    onnxruntime drops a GPU provider whose libraries are missing and goes on without it, or
    raises, depending on what failed. Both come out the same here. Its own fall-back is switched
    off: it prints, and may move a running session to the CPU without a word to us.
    """
    settings = _settings(runtime, threads)
    names = [name for name, _ in wanted]
    options = [dict(values) for _, values in wanted]
    said = _preload_gpu_libraries(runtime) if _ON_GPU & {*names} else ""
    try:
        session = runtime.InferenceSession(
            str(path), settings, providers=names, provider_options=options, enable_fallback=0
        )
    except Exception as error:
        if not _ON_GPU & {*names}:
            raise _unusable(path, error) from error
        said = f" ({_first_line(str(error))})"
    else:
        return session, said
    try:  # was it the GPU or the file?
        session = runtime.InferenceSession(str(path), settings, providers=[CPU], enable_fallback=0)
    except Exception as error:
        raise _unusable(path, error) from error
    return session, said


def _settings(runtime: ModuleType, threads: int) -> Any:
    """Session options: fixed threads that sleep when idle, every optimisation of the graph.

    A worker waits for frames most of the time; spinning threads would take the core from the
    stages it waits for.
    """
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    settings.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    settings.log_severity_level = 3  # errors; a fall-back is told by this module
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    settings.add_session_config_entry("session.inter_op.allow_spinning", "0")
    return settings


def _preload_gpu_libraries(runtime: ModuleType) -> str:
    """Load CUDA and cuDNN from Python packages, if they are there; what it had to say.

    onnxruntime 1.21 and newer can; it prints what it does not find, which matters only if the
    provider then fails to start.
    """
    preload = getattr(runtime, "preload_dlls", None)
    if preload is None:
        return ""
    words = io.StringIO()
    with contextlib.redirect_stdout(words):
        preload()
    return f" ({_first_line(words.getvalue())})" if words.getvalue().strip() else ""


def _unusable(path: Path, error: Exception) -> ModelError:
    if not path.is_file():
        return ModelError(f"there is no model file {path}")
    return ModelError(
        f"onnxruntime cannot load {path.name}: {_first_line(str(error))}",
        cure="is it an ONNX file, and is onnxruntime new enough for it?",
        facts={"path": str(path)},
    )


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason given"
