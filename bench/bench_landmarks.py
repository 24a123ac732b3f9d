"""What landmarks, crops and poses cost, how much they tremble, and what five points are worth.

cost        milliseconds of CPU time (not of the clock, so that a busy machine matters less) of
            one thread for each face of a 1080p frame with seven; medians over the rounds
batches     the same for the mesh network alone, so many crops at a time
trembling   carphone through decode, detect, track and landmarks: the root mean square of the
            second differences of all points from frame to frame, in hundredths of the face's
            width, and of yaw, pitch and roll, in degrees; smoothed and not
five        the pose of YuNet's five points against that of the same face's mesh, over carphone,
            franck and photos: median, and the error that 95 % do not exceed, in degrees

python bench/bench_landmarks.py --out bench/results/landmarks.json
python bench/bench_landmarks.py --quick
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import fits
import scenes
from facts import load, machine_facts, write_results

from mpflow.frame import Frame
from mpflow.models.align import aligned
from mpflow.models.facemesh import SIDE, FaceMesh
from mpflow.models.landmarks import fit
from mpflow.models.pose import pose_of
from mpflow.models.smoothing import steadied
from mpflow.models.store import ModelStore
from mpflow.pipeline import Pipeline
from mpflow.spec import RunSpec
from mpflow.tokens import Face

PACKAGES = ("numpy", "opencv-python", "onnxruntime", "av")
BATCHES = (1, 2, 4, 8, 16)
WINDOW = 7
SMOOTHING: dict[str, dict[str, int]] = {
    "none": {"smooth": 0},
    "behind only": {"smooth": 3, "ahead": 0},
    "both sides": {"smooth": 3, "ahead": 3},
}
PHOTOS = ("astronaut", "person-a-1", "person-a-2", "person-b-1", "person-b-2", "group-photo")


def measure_cost(store: ModelStore, model: FaceMesh, rounds: int) -> dict[str, float]:
    """Milliseconds of CPU time for each face."""
    picture = scenes.scene(store)
    frame, faces = scenes.slot(picture).frame(), fits.faces_of(store, picture)
    sights = [(frame, face) for face in faces]
    mesh = fit(model, sights[:1])[0].points
    near = [mesh + np.float32(step) for step in range(WINDOW)]
    count = len(faces)
    return {
        "faces": count,
        "landmarks, both passes": round(spent(lambda: fit(model, sights), rounds) / count, 3),
        "smoothing": spent(lambda: steadied(range(WINDOW), near, WINDOW // 2), rounds),
        "pose of a mesh": spent(lambda: pose_of(mesh), rounds),
        "align, 112": round(spent(lambda: cut(frame, faces, 112), rounds) / count, 3),
        "align, 512": round(spent(lambda: cut(frame, faces, 512), rounds) / count, 3),
        "whole frame as BGR": spent(lambda: frame.bgr((0, 0, frame.width, frame.height)), rounds),
    }


def cut(frame: Frame, faces: tuple[Face, ...], size: int) -> None:
    """A crop of every face."""
    for face in faces:
        aligned(frame, face.points, "ffhq", size)


def measure_batches(model: FaceMesh, rounds: int) -> dict[int, float]:
    """Milliseconds of CPU time for each crop."""
    crops = np.random.default_rng(0).integers(0, 255, (BATCHES[-1], SIDE, SIDE, 3), np.uint8)

    def call(size: int) -> Callable[[], object]:
        return lambda: model.points(crops[:size])

    return {size: round(spent(call(size), rounds) / size, 3) for size in BATCHES}


def spent(work: Callable[[], object], rounds: int) -> float:
    """Milliseconds of CPU time of one call, as the median; the first call is not counted."""
    seen = []
    for number in range(rounds + 1):
        began = time.process_time()
        work()
        if number:
            seen.append((time.process_time() - began) * 1000)
    return round(statistics.median(seen), 3)


def measure_trembling(store: ModelStore, stop: int) -> dict[str, Any]:
    """Second differences of meshes and poses along carphone."""
    table = {}
    for name, options in SMOOTHING.items():
        meshes, poses = followed(store, options, stop)
        width = float(np.ptp(meshes[0][:, 0]))
        points = np.diff(meshes[:, :, :2], 2, axis=0)
        angles = np.diff(poses, 2, axis=0)
        table[name] = {
            "frames": len(meshes),
            "points": round(float(np.sqrt((points**2).mean())) / width * 100, 3),
            "degrees": np.sqrt((angles**2).mean(axis=0)).round(3).tolist(),
        }
    return table


def followed(store: ModelStore, options: dict[str, int], stop: int) -> tuple[Any, Any]:
    """The meshes and the poses of the first face of each frame."""
    names = ["decode", "detect", "track", "landmarks", "mpflow.conformance:Nothing"]
    stages: list[dict[str, Any]] = [{"stage": name} for name in names]
    stages[3]["options"] = options
    meshes, poses = [], []
    with tempfile.TemporaryDirectory() as folder:
        preset = Path(folder) / "bench.yaml"
        preset.write_text(yaml.safe_dump({"stages": stages}))
        with Pipeline(RunSpec(store.path("carphone"), preset=str(preset), stop=stop)) as pipeline:
            for token, frame in pipeline:
                face = token.faces[0]
                meshes.append(frame.attached(face, "mesh"))
                poses.append(face.pose)
    return np.array(meshes), np.array(poses)


def measure_five(store: ModelStore, model: FaceMesh, step: int) -> dict[str, Any]:
    """How far the pose of five points is from that of the mesh."""
    off = [
        np.subtract(five, whole)
        for picture in pictures(store, step)
        for five, whole in poses_of(store, model, picture)
        if five is not None and whole is not None
    ]
    return {
        "faces": len(off),
        "median": np.median(off, axis=0).round(1).tolist(),
        "95 %": np.quantile(np.abs(off), 0.95, axis=0).round(1).tolist(),
    }


def pictures(store: ModelStore, step: int) -> Iterator[scenes.Picture]:
    """Photos, and every so many frames of the clips."""
    for name in PHOTOS:
        yield scenes.read(store, name)
    for name, every in (("carphone", step), ("franck", 16 * step)):
        clip = cv2.VideoCapture(str(store.path(name)))
        number = 0
        while clip.grab():
            if number % every == 0:
                yield np.asarray(clip.retrieve()[1], np.uint8)
            number += 1


def poses_of(store: ModelStore, model: FaceMesh, picture: scenes.Picture) -> Iterator[Any]:
    """For each face of a picture the pose of its five points, and of its mesh."""
    frame = scenes.slot(picture).frame()
    faces = fits.faces_of(store, picture)
    for face, mesh in zip(faces, fit(model, [(frame, face) for face in faces]), strict=True):
        yield pose_of(face.points), pose_of(mesh.points)


def main() -> None:
    """Measure, print, and keep the results where ``--out`` says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it runs")
    given = parser.parse_args()
    rounds, stop, step = (2, 12, 40) if given.quick else (20, 120, 6)
    cv2.setNumThreads(1)
    store = ModelStore()
    model = fits.face_mesh(store)
    results = {
        "machine": machine_facts(PACKAGES),
        "cost_ms": measure_cost(store, model, rounds),
        "batches_ms": measure_batches(model, rounds),
        "trembling": measure_trembling(store, stop),
        "five_points": measure_five(store, model, step),
        "load_after": load(),
    }
    print(json.dumps(results, indent=2))
    if given.out:
        write_results(given.out, results)


if __name__ == "__main__":
    main()
