"""What session is opened, on a real onnxruntime and on stand-ins for one that has a GPU."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpflow.errors import ConfigError, ModelError
from mpflow.models import sessions
from mpflow.models.sessions import CPU, CUDA, TENSORRT, SessionFacts, open_session
from mpflow.models.store import ModelStore

Runtime = Callable[..., types.ModuleType]


class Settings:
    """Stands for onnxruntime.SessionOptions."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}

    def add_session_config_entry(self, key: str, value: str) -> None:
        self.entries[key] = value


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """Put a stand-in for onnxruntime in place.

    ``available`` are the providers it was built with, ``broken`` those that do not start on
    this machine: dropped without a word, or, if ``loud``, with an exception.
    """

    def install(
        available: tuple[str, ...], broken: tuple[str, ...] = (), loud: bool = False
    ) -> types.ModuleType:
        module: Any = types.ModuleType("onnxruntime")
        module.made = []

        class InferenceSession:
            def __init__(self, path: str, settings: Settings, **options: Any) -> None:
                names = options["providers"]
                if "damaged" in path:
                    raise RuntimeError("INVALID_PROTOBUF")
                if loud and set(broken) & set(names):
                    raise RuntimeError("CUDA failure 100: no device\nand more")
                self.used = [name for name in names if name not in broken] or [CPU]
                self.settings, self.options = settings, options
                module.made.append(self)

            def get_providers(self) -> list[str]:
                return self.used

        module.InferenceSession = InferenceSession
        module.SessionOptions = Settings
        module.ExecutionMode = types.SimpleNamespace(ORT_SEQUENTIAL="sequential")
        module.GraphOptimizationLevel = types.SimpleNamespace(ORT_ENABLE_ALL="all")
        module.get_available_providers = lambda: list(available)
        monkeypatch.setitem(sys.modules, "onnxruntime", module)
        return module  # type: ignore[no-any-return]

    return install


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.onnx"
    path.touch()
    return path


def test_a_real_session_runs_and_says_so(model_store: ModelStore) -> None:
    session, facts = open_session(model_store.path("yunet"), device="cpu", threads=2)
    assert facts == SessionFacts("cpu", (CPU,), 2, "")
    cls = session.run(["cls_8"], {"input": np.zeros((2, 3, 64, 96), np.float32)})[0]
    assert cls.shape == (2, 8 * 12, 1)


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_text("no model")
    with pytest.raises(ModelError, match=r"cannot load text\.onnx"):
        open_session(path, device="cpu")


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no model file .*absent\.onnx"):
        open_session(tmp_path / "absent.onnx", device="cpu")


def test_without_onnxruntime_the_cure_is_said(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelError, match=r"mpflow-pipeline\[cpu\]"):
        open_session(file)


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda:-1", "", "cpu:0"])
def test_a_device_that_is_none_is_refused(device: str, runtime: Runtime, file: Path) -> None:
    runtime((CPU,))
    with pytest.raises(ConfigError, match="cuda:N"):
        open_session(file, device=device)


def test_idle_threads_sleep(runtime: Runtime, file: Path) -> None:
    module: Any = runtime((CPU,))
    open_session(file, threads=3)
    (session,) = module.made
    assert session.settings.intra_op_num_threads == 3
    assert session.settings.inter_op_num_threads == 1
    assert session.settings.entries["session.intra_op.allow_spinning"] == "0"
    assert session.options["enable_fallback"] == 0


def test_a_named_gpu_is_the_one_that_is_used(runtime: Runtime, file: Path) -> None:
    module: Any = runtime((TENSORRT, CUDA, CPU))
    _, facts = open_session(file, device="cuda:1")
    assert facts == SessionFacts("cuda:1", (CUDA, CPU), 1, "")
    (session,) = module.made
    assert session.options["provider_options"][0]["device_id"] == "1"


def test_auto_takes_the_gpu_where_there_is_one(runtime: Runtime, file: Path) -> None:
    runtime((CUDA, CPU))
    assert open_session(file)[1] == SessionFacts("cuda:0", (CUDA, CPU), 1, "")


@pytest.mark.parametrize("loud", [False, True])
def test_auto_falls_back_once_and_says_why(runtime: Runtime, file: Path, loud: bool) -> None:
    runtime((CUDA, CPU), broken=(CUDA,), loud=loud)
    told: list[str] = []
    _, facts = open_session(file, warn=told.append)
    assert (facts.device, facts.providers) == ("cpu", (CPU,))
    assert told == [facts.fallback]
    assert facts.fallback.startswith(f"{CUDA} could not be started")
    assert ("CUDA failure 100: no device" in facts.fallback) is loud


@pytest.mark.parametrize("loud", [False, True])
def test_a_named_gpu_never_falls_back(runtime: Runtime, file: Path, loud: bool) -> None:
    runtime((CUDA, CPU), broken=(CUDA,), loud=loud)
    with pytest.raises(ModelError, match=f"{CUDA} could not be started"):
        open_session(file, device="cuda:0")


def test_a_named_gpu_without_a_gpu_build_is_an_error(runtime: Runtime, file: Path) -> None:
    runtime((CPU,))
    with pytest.raises(ModelError, match=r"cannot use cuda:2.*\[gpu\]"):
        open_session(file, device="cuda:2")


def test_auto_says_when_a_gpu_lies_idle(
    runtime: Runtime, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime((CPU,))
    monkeypatch.setattr(sessions, "gpu_present", lambda: True)
    told: list[str] = []
    open_session(file, warn=told.append)
    assert len(told) == 1
    assert "has an NVIDIA GPU" in told[0]


def test_auto_without_any_gpu_is_no_fallback(
    runtime: Runtime, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime((CPU,))
    monkeypatch.setattr(sessions, "gpu_present", lambda: False)
    assert open_session(file)[1].fallback == ""


def test_cpu_is_used_although_there_is_a_gpu(runtime: Runtime, file: Path) -> None:
    runtime((CUDA, CPU))
    assert open_session(file, device="cpu")[1] == SessionFacts("cpu", (CPU,), 1, "")


def test_named_providers_come_in_their_order(runtime: Runtime, file: Path) -> None:
    module: Any = runtime((CUDA, TENSORRT, CPU))
    _, facts = open_session(file, device="cuda:1", providers=[TENSORRT, CUDA])
    assert facts.providers == (TENSORRT, CUDA)
    assert [item["device_id"] for item in module.made[0].options["provider_options"]] == ["1", "1"]


def test_a_provider_that_is_absent_is_an_error_that_lists_those_there(
    runtime: Runtime, file: Path
) -> None:
    runtime((CPU,))
    with pytest.raises(ModelError, match=f"no {CUDA}.*it has: {CPU}"):
        open_session(file, providers=[CUDA])


def test_a_named_provider_that_does_not_start_is_an_error(runtime: Runtime, file: Path) -> None:
    runtime((CUDA, TENSORRT, CPU), broken=(TENSORRT,))
    with pytest.raises(ModelError, match=f"{TENSORRT} could not be started"):
        open_session(file, providers=[CUDA, TENSORRT])


def test_a_damaged_file_is_not_blamed_on_the_gpu(runtime: Runtime, tmp_path: Path) -> None:
    runtime((CUDA, CPU))
    path = tmp_path / "damaged.onnx"
    path.touch()
    with pytest.raises(ModelError, match=r"cannot load damaged\.onnx"):
        open_session(path)


def test_gpu_libraries_are_loaded_quietly_and_quoted_if_the_gpu_fails(
    runtime: Runtime, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module: Any = runtime((CUDA, CPU), broken=(CUDA,))
    module.preload_dlls = lambda: print("Failed to load libcudnn.so.9")
    _, facts = open_session(file)
    assert "libcudnn.so.9" in facts.fallback
    assert capsys.readouterr().out == ""


def test_a_gpu_is_seen_by_its_driver(tmp_path: Path) -> None:
    assert not sessions.gpu_present(tmp_path)
    (tmp_path / "proc/driver/nvidia/gpus/0000:01:00.0").mkdir(parents=True)
    assert sessions.gpu_present(tmp_path)
