# SPDX-License-Identifier: Apache-2.0
"""Tasks beyond class labels, against what their own users run."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from commands import Layout, environment, timed, tool
from rounds import in_turn, median, median_ratio
from table import Table
from tables import Setup
from text_tables import TEXT_BENCHMARKS

HERE = Path(__file__).resolve().parent
IMAGES, CLASSES = 5000, 80  # of COCO's validation set
COCO_FIGURES = ("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large",
                "ar1", "ar10", "ar100", "ar_small", "ar_medium", "ar_large")  # fmt: skip


def _coco_files(folder: Path) -> tuple[Path, Path]:
    """Annotations and results: objects as many as COCO has, and some eighty detections an image, near them or not."""
    random = np.random.default_rng(0)
    annotations, results = folder / "annotations.json", folder / "results.json"
    objects, found = [], []
    for image in range(1, IMAGES + 1):
        count = int(random.poisson(7.3))
        corners = random.uniform(0, 400, (count, 2))
        sizes = np.exp(random.uniform(np.log(8), np.log(240), (count, 2)))
        classes = random.integers(1, CLASSES + 1, count)
        boxes = np.concatenate([corners, sizes], 1)
        for box, category in zip(boxes, classes, strict=True):
            objects.append({"id": len(objects) + 1, "image_id": image, "category_id": int(category), "iscrowd": int(random.random() < 0.01),
                            "bbox": box.round(2).tolist(), "area": float(box[2] * box[3] * 0.6)})  # fmt: skip
        near = boxes.repeat(3, 0) * random.uniform(0.85, 1.15, (3 * count, 4))
        far = np.concatenate([random.uniform(0, 400, (81 - min(81, 3 * count), 2)),
                              random.uniform(8, 240, (81 - min(81, 3 * count), 2))], 1)  # fmt: skip
        labels = np.concatenate([classes.repeat(3), random.integers(1, CLASSES + 1, len(far))])
        scores = np.concatenate([random.beta(4, 3, len(near)), random.beta(1, 8, len(far))])
        for box, label, score in zip(np.concatenate([near, far]), labels, scores, strict=True):
            found.append({"image_id": image, "category_id": int(label), "bbox": box.round(2).tolist(), "score": float(score)})
    images = [{"id": image, "width": 640, "height": 640, "file_name": f"{image}.jpg"} for image in range(1, IMAGES + 1)]
    categories = [{"id": label, "name": f"class {label}"} for label in range(1, CLASSES + 1)]
    annotations.write_text(json.dumps({"images": images, "categories": categories, "annotations": objects}))
    results.write_text(json.dumps(found))
    return annotations, results


def detection(setup: Setup) -> Table:
    """Figures of detections that are there: the whole command, from two files to twelve numbers."""
    table = Table("detection", f"{IMAGES} images, {CLASSES} classes, COCO's results in JSON: seconds from launch to exit",
                  ["ranks", "tally score", "pycocotools", "pycocotools / Tally", "largest difference of the 12 figures"])  # fmt: skip
    annotations, results = _coco_files(setup.folder)
    data, output = setup.folder / "coco.h5", setup.folder / "scored"
    tool("prepare_coco.py", "--input", annotations, "--no-images", "--output", data)

    def score(ranks: int) -> dict[str, float]:
        shutil.rmtree(output, ignore_errors=True)
        launcher = ["mpirun", "-n", ranks] if ranks > 1 else []
        words = ["score", "--predictions", results, "--data", data, "--output", output, "--save", "none", "--progress", "off"]
        _, wall_s = timed([*launcher, setup.build / "tally", *words], environment())
        metrics = json.loads((output / "report.json").read_text())["metrics"]
        return {"wall_s": wall_s} | {name: metrics[name]["value"] for name in COCO_FIGURES}

    def theirs() -> dict[str, float]:
        out, wall_s = timed([sys.executable, HERE / "pycocotools_eval.py", annotations, results], environment())
        return {"wall_s": wall_s} | dict(zip(COCO_FIGURES, json.loads(out), strict=True))

    found = in_turn({"1": lambda: score(1), "2": lambda: score(2), "theirs": theirs}, setup.rounds)
    rival = found.pop("theirs")
    for ranks, ours in found.items():
        difference = max(abs(ours[0][name] - rival[0][name]) for name in COCO_FIGURES)
        table.rows.append([ranks, median(ours, "wall_s"), median(rival, "wall_s"), median_ratio(rival, ours, "wall_s"), difference])
    return table


def watch(setup: Setup) -> Table:
    """What a checkpoint takes beyond its loop, while the model and the data set stay loaded."""
    table = Table("watch", "ResNet-18, 1,536 random images of 224 x 224, 5 checkpoints: seconds for each after the first",
                  ["ranks x threads", "checkpoint", "its loop", "checkpoint / loop"])  # fmt: skip
    case = setup.cases.resnet18(1536)
    folder = setup.folder / "checkpoints"
    folder.mkdir(exist_ok=True)
    state = torch.jit.load(str(case.model)).state_dict()
    for step in range(1, 6):
        noisy = {name: value * 1.001**step if value.is_floating_point() else value for name, value in state.items()}
        torch.save({"model": noisy, "epoch": step}, folder / f"epoch_{step}.pt")
    (folder / "done").touch()

    def run(layout: Layout) -> dict[str, float]:
        output = setup.folder / "watch"
        shutil.rmtree(output, ignore_errors=True)
        words = setup.tally.command(case, layout)
        words[words.index("evaluate")] = "watch"
        timed([*words, "--checkpoints", folder, "--output", output, "--poll", "0.2", "--progress", "off"], environment())
        reports = sorted((output / "results").glob("*/report.json"), key=lambda path: path.stat().st_mtime_ns)
        ends = [path.stat().st_mtime_ns * 1e-9 for path in reports]
        loops = [json.loads(path.read_text())["timing"]["phases"]["evaluate_s"]["max"] for path in reports[1:]]
        each, loop = (ends[-1] - ends[0]) / (len(ends) - 1), float(np.mean(loops))
        return {"each_s": each, "loop_s": loop, "ratio": each / loop}

    for layout in (Layout(1, 2), Layout(2, 1)):
        figures = [run(layout) for _ in range(setup.rounds)]
        table.rows.append([str(layout), median(figures, "each_s"), median(figures, "loop_s"), median(figures, "ratio")])
    return table


TASK_BENCHMARKS: dict[str, Callable[[Setup], Table]] = {one.__name__: one for one in (detection, watch)} | TEXT_BENCHMARKS
