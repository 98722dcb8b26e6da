# SPDX-License-Identifier: Apache-2.0
"""What metrics cost per sample: Tally's pass, torchmetrics over the same logits, and the forward pass they belong to.

Each is run in turn, over and over, on one thread; the table has medians of processor time. Tally's standard set and all of its counted
metrics for 10 and 1,000 classes; ResNet-18 over images of 32 x 32 and 224 x 224; torchmetrics' collection of those
metrics that it has, updates alone.
"""

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torchmetrics
import torchvision
from torchmetrics import classification as tm

BATCH = 64
ALL = "all,f2_macro,f3_macro"
SIZES = {10: 32, 1000: 224}  # classes: height and width of the images


def collection(classes: int, everything: bool) -> torchmetrics.MetricCollection:
    averages = ("macro", "micro", "weighted")
    kinds = {"precision": tm.MulticlassPrecision, "recall": tm.MulticlassRecall, "f1": tm.MulticlassF1Score}
    made = {f"{name}_{one}": kind(classes, average=one, validate_args=False)
            for name, kind in kinds.items() for one in averages}  # fmt: skip
    made |= {
        "accuracy": tm.MulticlassAccuracy(classes, average="micro", validate_args=False),
        "accuracy_top5": tm.MulticlassAccuracy(classes, average="micro", top_k=5, validate_args=False),
        "specificity": tm.MulticlassSpecificity(classes, validate_args=False),
        "jaccard": tm.MulticlassJaccardIndex(classes, validate_args=False),
        "kappa": tm.MulticlassCohenKappa(classes, validate_args=False),
        "mcc": tm.MulticlassMatthewsCorrCoef(classes, validate_args=False),
        "ece": tm.MulticlassCalibrationError(classes, validate_args=False),
        "confusion": tm.MulticlassConfusionMatrix(classes, validate_args=False),
    }
    if everything:
        for one in ("micro", "weighted"):
            made[f"specificity_{one}"] = tm.MulticlassSpecificity(classes, average=one, validate_args=False)
            made[f"jaccard_{one}"] = tm.MulticlassJaccardIndex(classes, average=one, validate_args=False)
        for weights in ("linear", "quadratic"):
            made[f"kappa_{weights}"] = tm.MulticlassCohenKappa(classes, weights=weights, validate_args=False)
        for norm in ("l2", "max"):
            made[f"calibration_{norm}"] = tm.MulticlassCalibrationError(classes, norm=norm, validate_args=False)
        for beta in (2.0, 3.0):
            made[f"beta_{beta:.0f}"] = tm.MulticlassFBetaScore(beta, classes, validate_args=False)
        made["hinge"] = tm.MulticlassHingeLoss(classes, validate_args=False)
    return torchmetrics.MetricCollection(made)


def ns_per_sample(work: Callable[[], int]) -> float:
    """`work` returns how many samples it did."""
    start = time.process_time()  # no one else's work, on a machine that is not ours alone
    samples = work()
    return (time.process_time() - start) * 1e9 / samples


def forward(classes: int) -> Callable[[], int]:
    size = SIZES[classes]
    net = torchvision.models.resnet18(num_classes=classes).eval()
    frozen = torch.jit.freeze(torch.jit.script(net))  # as Tally does
    images = torch.rand(BATCH, 3, size, size)
    with torch.inference_mode():
        for _ in range(3):
            frozen(images)

    def work() -> int:
        with torch.inference_mode():
            frozen(images)
        return BATCH

    return work


def by_torchmetrics(logits: torch.Tensor, labels: torch.Tensor, everything: bool) -> Callable[[], int]:
    metrics = collection(logits.shape[1], everything)
    metrics.update(logits[:BATCH], labels[:BATCH])  # finds the groups that share their states

    def work() -> int:
        metrics.reset()
        for some, of_them in zip(logits.split(BATCH), labels.split(BATCH), strict=True):
            metrics.update(some, of_them)
            torch.nn.functional.cross_entropy(some, of_them)
        return len(labels)

    return work


def by_tally(program: Path, arrays: Path, rows: int, classes: int, names: str) -> float:
    command = [program, arrays, rows, classes, BATCH, 3, names]
    out = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    return statistics.median(map(float, out.split()))


def measure(program: Path, classes: int, rounds: int, folder: Path) -> list[dict]:
    torch.set_num_threads(1)
    rows = 6400 if classes == 1000 else 64000
    random = np.random.default_rng(0)
    labels = random.integers(0, classes, rows)
    logits = random.normal(0, 2, (rows, classes)).astype(np.float32)
    logits[np.arange(rows), labels] += 4
    arrays = folder / f"arrays{classes}"
    arrays.write_bytes(logits.tobytes() + labels.tobytes())
    net = forward(classes)
    sets = {"standard": ("standard", False), "all": (ALL, True)}
    some = slice(0, rows // 10)
    others = {name: by_torchmetrics(torch.from_numpy(logits[some]), torch.from_numpy(labels[some]), everything)
              for name, (_, everything) in sets.items()}  # fmt: skip
    found = {name: [] for name in sets}
    for _ in range(rounds):
        of_net = ns_per_sample(net)
        for name, (names, _) in sets.items():
            ours = by_tally(program, arrays, rows, classes, names)
            other = ns_per_sample(others[name])
            found[name].append({"tally_ns": ours, "torchmetrics_ns": other, "forward_ns": of_net,
                                "share": ours / of_net, "times_faster": other / ours})  # fmt: skip
    return [{"classes": classes, "set": name}
            | {key: statistics.median(one[key] for one in entries) for key in entries[0]}
            for name, entries in found.items()]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="metric_pass")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = [one for classes in SIZES for one in measure(options.program, classes, options.rounds, Path(folder))]
    print(f"{platform.machine()}, torch {torch.__version__}, torchmetrics {torchmetrics.__version__}, one thread")
    print("| classes | metrics | tally, ns | torchmetrics, ns | faster | ResNet-18, us | share of it |")
    print("|---|---|---|---|---|---|---|")
    for one in results:
        print(f"| {one['classes']} | {one['set']} | {one['tally_ns']:.0f} | {one['torchmetrics_ns']:.0f} "
              f"| {one['times_faster']:.1f}x | {one['forward_ns'] / 1e3:.0f} | {one['share'] * 100:.3f} % |")  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
