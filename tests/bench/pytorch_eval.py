# SPDX-License-Identifier: Apache-2.0
"""Evaluates a network over a data set file as PyTorch users write it; what Tally is measured against.

    python pytorch_eval.py --network resnet18 --data set.h5 --style tuned --form llga
    torchrun --nproc-per-node 2 pytorch_eval.py …

`--style common` is what most people write: a sample at a time through a DataLoader, contiguous tensors. `--style tuned`
reads a batch in one piece and keeps tensors channels-last. Both shard by contiguous ranges, count no sample twice and
keep torchmetrics' state on the ranks until the end. Prints one line of JSON.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))


def process_age_s() -> float:
    """Seconds since the process began, the interpreter's start included."""
    ticks = float(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", required=True, help="a name in networks.py")
    parser.add_argument("--weights", type=Path, help="state_dict; else those of the network's seed")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--style", choices=["common", "tuned"], default="tuned")
    parser.add_argument("--form", choices=["eager", "torchscript", "llga"], default="eager",
                        help="llga: TorchScript with oneDNN Graph's fusion")  # fmt: skip
    parser.add_argument("--passes", type=int, default=1, help="over the data; the fastest one's rate is reported")
    return parser.parse_args()


OPTIONS = options()
import h5py  # noqa: E402
import networks  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402
from torchmetrics import MeanMetric, MetricCollection  # noqa: E402
from torchmetrics.classification import (  # noqa: E402
    MulticlassAccuracy,
    MulticlassCalibrationError,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
    MulticlassPrecision,
    MulticlassRecall,
)

Batches = Iterator[tuple[torch.Tensor, torch.Tensor]]
TUNED = OPTIONS.style == "tuned"
FORMAT = torch.channels_last if TUNED else torch.contiguous_format


class Samples(Dataset):
    """One image at a time."""

    def __init__(self, file: h5py.File, first: int, end: int) -> None:
        self.images, self.labels = file["/inputs/image"], file["/targets/label"]
        self.first, self.end = first, end

    def __len__(self) -> int:
        return self.end - self.first

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.from_numpy(self.images[self.first + index]), int(self.labels[self.first + index])


class Pieces(Samples):
    """A batch at a time."""

    def __len__(self) -> int:
        return -(-(self.end - self.first) // OPTIONS.batch_size)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        first = self.first + index * OPTIONS.batch_size
        rows = slice(first, min(first + OPTIONS.batch_size, self.end))
        return torch.from_numpy(self.images[rows]), torch.from_numpy(self.labels[rows])


def make_loader(file: h5py.File, first: int, end: int) -> DataLoader:
    if TUNED:
        return DataLoader(Pieces(file, first, end), batch_size=None)
    return DataLoader(Samples(file, first, end), batch_size=OPTIONS.batch_size)


def make_network(example: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    module = networks.make(OPTIONS.network)
    if OPTIONS.weights:
        module.load_state_dict(torch.load(OPTIONS.weights))
    module = module.eval().to(memory_format=FORMAT)
    if OPTIONS.form == "eager":
        return module
    torch.jit.enable_onednn_fusion(OPTIONS.form == "llga")
    frozen = torch.jit.freeze(torch.jit.trace(module, example, check_trace=False))
    return frozen if OPTIONS.form == "llga" else torch.jit.optimize_for_inference(frozen)


class Scores:
    """The figures of Tally's standard set that torchmetrics has, in groups that share their state."""

    def __init__(self, classes: int) -> None:
        rest = {"num_classes": classes, "validate_args": False}
        of_counts = {"precision": MulticlassPrecision(**rest), "recall": MulticlassRecall(**rest),
                     "f1": MulticlassF1Score(**rest)}  # fmt: skip
        single = {"accuracy": MulticlassAccuracy(average="micro", **rest),
                  "accuracy_top5": MulticlassAccuracy(average="micro", top_k=5, **rest),
                  "ece": MulticlassCalibrationError(**rest), "confusion": MulticlassConfusionMatrix(**rest)}  # fmt: skip
        groups = [list(of_counts), *([name] for name in single)]
        self.collection = MetricCollection(of_counts | single, compute_groups=groups)
        self.loss = MeanMetric()

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        self.collection.update(logits, labels)
        self.loss.update(torch.nn.functional.cross_entropy(logits, labels), weight=len(labels))

    def compute(self) -> dict[str, float]:
        values = {name: value.item() for name, value in self.collection.compute().items() if value.numel() == 1}
        return values | {"loss": self.loss.compute().item()}

    def reset(self) -> None:
        self.collection.reset()
        self.loss.reset()


def padded(images: torch.Tensor) -> torch.Tensor:
    """To the batch size that compiled networks were made for."""
    missing = OPTIONS.batch_size - len(images)
    if missing == 0 or OPTIONS.form in ("eager", "torchscript"):
        return images
    return torch.cat([images, images.new_zeros((missing, *images.shape[1:]))]).contiguous(memory_format=FORMAT)


def one_pass(batches: DataLoader, step: Callable, scores: Scores) -> dict[str, float]:
    """The rate leaves the first batch out."""
    scores.reset()
    begin = time.perf_counter()
    after_first, samples, first_samples = 0.0, 0, 0
    for images, labels in batches:
        scores.update(step(images), labels)
        samples += len(labels)
        if not after_first:
            after_first, first_samples = time.perf_counter(), len(labels)
    end = time.perf_counter()
    return {"loop_s": end - begin, "per_s": (samples - first_samples) / (end - after_first)}


def main() -> None:
    torch.set_num_threads(OPTIONS.threads)
    distributed = "RANK" in os.environ
    if distributed:
        dist.init_process_group("gloo")
    rank, world = (dist.get_rank(), dist.get_world_size()) if distributed else (0, 1)
    with h5py.File(OPTIONS.data) as file, torch.inference_mode():
        total = len(file["/targets/label"])
        images = file["/inputs/image"]
        normalise = networks.normaliser(OPTIONS.network, images.attrs, FORMAT, torch.float32)
        batches = make_loader(file, total * rank // world, total * (rank + 1) // world)
        zeros = torch.zeros((OPTIONS.batch_size, *images.shape[1:]), dtype=torch.uint8)
        network = make_network(normalise(zeros))
        step = lambda some: network(padded(normalise(some)))[: len(some)]  # noqa: E731
        for _ in range(3):
            step(zeros)
        startup_s = process_age_s()
        scores = Scores(int(file.attrs["num_classes"]))
        passes = [one_pass(batches, step, scores) for _ in range(OPTIONS.passes)]
        values = scores.compute()
    rates = torch.tensor([max(one["per_s"] for one in passes)])
    if distributed:
        dist.all_reduce(rates)
        dist.destroy_process_group()
    if rank == 0:
        print(json.dumps({"samples": total, "startup_s": startup_s, "loop_s": min(one["loop_s"] for one in passes),
                          "per_s": rates.item(), "wall_s": process_age_s(), "metrics": values}))  # fmt: skip


main()
