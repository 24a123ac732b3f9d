"""Engines are built once for all sizes, and found by the next run (row 29 of users' pains)."""

from __future__ import annotations

import sys
import types
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mpflow.models.engines import Engines
from mpflow.models.sessions import CPU, CUDA, TENSORRT, open_session
from mpflow.stage import StageContext
from mpflow.stages.detect import Detect, DetectOptions

OPTIONS = Engines(Path("/cache"), (1, 3, 32, 32), (4, 3, 384, 640), (4, 3, 640, 640)).options("in")


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Stands for an onnxruntime with TensorRT: ``built`` gets a line for each engine it builds.

    It builds when it finds no engine for the model and its range of shapes in the folder it was
    given, or has no folder.
    """
    module: Any = types.ModuleType("onnxruntime")
    module.built, module.opened = [], []

    class Session:
        def __init__(self, path: str, settings: Any, **named: Any) -> None:
            self.providers = named["providers"]
            if TENSORRT not in self.providers:
                return
            module.opened.append(path)
            options = named["provider_options"][self.providers.index(TENSORRT)]
            ranges = [options[f"trt_profile_{kind}_shapes"] for kind in ("min", "opt", "max")]
            kept = Path(options["trt_engine_cache_path"]) / f"{Path(path).stem} {' '.join(ranges)}"
            if not kept.exists():
                kept.touch()
                module.built.append(ranges[-1])

        def get_inputs(self) -> list[Any]:
            return [types.SimpleNamespace(name="input", shape=["n", 3, "h", "w"])]

        def get_providers(self) -> list[str]:
            return list(self.providers)

    module.InferenceSession = Session
    module.SessionOptions = lambda: types.SimpleNamespace(
        add_session_config_entry=lambda key, value: None
    )
    module.ExecutionMode = types.SimpleNamespace(ORT_SEQUENTIAL=0)
    module.GraphOptimizationLevel = types.SimpleNamespace(ORT_ENABLE_ALL=0)
    module.get_available_providers = lambda: [TENSORRT, CUDA, CPU]
    monkeypatch.setitem(sys.modules, "onnxruntime", module)
    return module


def detect(folder: Path, **options: Any) -> Detect:
    model = folder / "model.onnx"
    model.touch()
    made = Detect(
        DetectOptions(path=str(model), device="cuda:0", providers=(TENSORRT, CUDA), **options),
        StageContext("detect"),
    )
    made.open()
    return made


def test_engine_and_timings_are_kept_and_one_range_covers_all_shapes() -> None:
    assert OPTIONS["trt_engine_cache_enable"] == OPTIONS["trt_timing_cache_enable"] == "1"
    assert OPTIONS["trt_engine_cache_path"] == OPTIONS["trt_timing_cache_path"] == "/cache"
    assert OPTIONS["trt_profile_min_shapes"] == "in:1x3x32x32"
    assert OPTIONS["trt_profile_opt_shapes"] == "in:4x3x384x640"
    assert OPTIONS["trt_profile_max_shapes"] == "in:4x3x640x640"


def test_sides_that_a_file_fixes_are_no_range() -> None:
    engines = Engines(Path("/cache"), (1, 3, 32, 32), (4, 3, 384, 640), (4, 3, 640, 640))
    some = engines.options("in", [1, 3, "h", "w"])
    assert some["trt_profile_min_shapes"] == "in:1x3x32x32"
    assert some["trt_profile_max_shapes"] == "in:1x3x640x640"
    every = engines.options("in", [1, 3, 640, 640])
    assert every["trt_engine_cache_path"] == "/cache"
    assert not any(key.startswith("trt_profile") for key in every)


def test_one_build_serves_all_sizes_and_none_is_needed_by_the_next_run(
    runtime: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPFLOW_CACHE", str(tmp_path / "cache"))
    first = detect(tmp_path, max_batch=4)
    for size in ("320x192", "640x384", "384x640", "auto"):
        first.tune(DetectOptions(**{**as_dict(first.options), "size": size}))
    assert len(runtime.built) == 1 and len(runtime.opened) == 1
    for size in ("auto", "320x192", "384x640"):
        detect(tmp_path, max_batch=4, size=size)
    assert len(runtime.built) == 1 and len(runtime.opened) == 4


def test_a_size_that_no_engine_covers_is_built_for_while_the_watchdog_knows(
    runtime: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPFLOW_CACHE", str(tmp_path / "cache"))
    known: list[int] = []

    @contextmanager
    def building() -> Any:
        before = len(runtime.built)
        yield
        known.append(len(runtime.built) - before)

    made = detect(tmp_path)
    object.__setattr__(made.context, "building", building)
    made.tune(DetectOptions(**{**as_dict(made.options), "size": "1280x736"}))
    assert runtime.built == ["input:1x3x640x640", "input:1x3x1280x1280"]
    assert known == [1]


def test_a_runtime_without_engines_gets_no_such_options(runtime: Any, tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.touch()
    engines = Engines.for_pictures(tmp_path / "engines", 1, 640, 384, 32)
    open_session(model, device="cuda:0", engines=engines)
    assert not (tmp_path / "engines").exists()


def as_dict(options: DetectOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in options.__struct_fields__}


def test_what_belongs_to_a_picture_comes_in_the_same_numbers() -> None:
    """A swapper takes a crop and an embedding: a range for each, unless the file fixes both."""
    engines = Engines.for_pictures(Path("/cache"), 8, 256, 256, 256)

    def inputs(batch: int | str) -> list[Any]:
        shapes = {"source": [batch, 512], "target": [batch, 3, 256, 256]}
        return [types.SimpleNamespace(name=name, shape=shape) for name, shape in shapes.items()]

    found = engines.options_for(inputs("n"))
    assert found["trt_profile_min_shapes"] == "target:1x3x256x256,source:1x512"
    assert found["trt_profile_max_shapes"] == "target:8x3x256x256,source:8x512"
    assert not any("profile" in key for key in engines.options_for(inputs(1)))
