#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the ConvNet of PyTorch's MNIST tutorial with DistributedDataParallel: an example to be watched.

    torchrun --standalone --nproc-per-node 2 train_mnist_ddp.py --data mnist --output checkpoints \\
        --stop-folder watch

--data is the folder of the idx files (train-images-idx3-ubyte.gz, …); nothing is downloaded. A checkpoint is written
after each epoch, or every --every steps, and appears under its name only when it is whole. The file `done` says
that it was the last one. The three lines that ask the watch are marked with "watch".
"""

import argparse
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.functional import cross_entropy, max_pool2d
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

sys.path.append(str(Path(__file__).resolve().parents[2] / "data_tools"))
from early_stopping import mark_begun, mark_done, should_stop  # noqa: E402 - watch
from tally_data.idx import find_idx, read_idx  # noqa: E402

MEAN, STD = 0.1307, 0.3081  # those of prepare_mnist.py


class MnistConvNet(nn.Module):
    """Input: float32 [batch, 1, 28, 28], normalised. Output: logits [batch, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, kernel_size=5)
        self.conv2 = nn.Conv2d(20, 50, kernel_size=5)
        self.fc1 = nn.Linear(50 * 4 * 4, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = max_pool2d(self.conv1(image).relu(), 2)
        hidden = max_pool2d(self.conv2(hidden).relu(), 2)
        return self.fc2(self.fc1(hidden.flatten(1)).relu())


def mnist_convnet() -> nn.Module:
    """For export_model.py --model train_mnist_ddp.py:mnist_convnet --input-shape 1,28,28"""
    return MnistConvNet()


@dataclass
class Training:
    """What a checkpoint holds, and where it goes on."""

    model: DistributedDataParallel
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    device: torch.device
    amp_dtype: torch.dtype | None  # None: without autocast
    epoch: int = 0  # the current one, from 1 on
    step: int = 0  # optimizer steps so far

    def learn(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        """images: uint8 [batch, 1, 28, 28], labels: int64 [batch]"""
        normalised = (images / 255 - MEAN) / STD
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, self.amp_dtype, enabled=self.amp_dtype is not None):
            loss = cross_entropy(self.model(normalised), labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.step += 1

    def save(self, path: Path) -> None:
        """By rank 0: under a name that no watch takes for a checkpoint's, then renamed."""
        if distributed.get_rank() != 0:
            return
        unfinished = path.with_name(f".{path.name}.part")
        content = {"model": self.model, "optimizer": self.optimizer, "scaler": self.scaler}
        states = {name: value.state_dict() for name, value in content.items()}  # the model's begin with "module."
        torch.save(states | {"epoch": self.epoch, "step": self.step}, unfinished)
        unfinished.rename(path)
        print(f"epoch {self.epoch}, step {self.step}: {path}", flush=True)


def read_mnist(folder: Path, limit: int | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Images uint8 [N, 1, 28, 28] and labels int64 [N] of the first N for training."""
    images = read_idx(find_idx(folder, "train-images-idx3-ubyte"), 3)[:limit, None]
    labels = read_idx(find_idx(folder, "train-labels-idx1-ubyte"), 1)[:limit].astype(np.int64)
    return torch.from_numpy(images.copy()), torch.from_numpy(labels)


def prepare(options: argparse.Namespace) -> Training:
    rank = distributed.get_rank()
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(options.seed + rank)  # DDP sends the weights of rank 0 to all
    on_gpu = options.device == "cuda"
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    model = DistributedDataParallel(MnistConvNet().to(device), device_ids=[device.index] if on_gpu else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
    scaler = torch.amp.GradScaler("cuda", enabled=on_gpu and options.amp)  # fp16 needs it, bf16 does not
    amp_dtype = (torch.float16 if on_gpu else torch.bfloat16) if options.amp else None
    return Training(model, optimizer, scaler, device, amp_dtype)


def checkpoints(options: argparse.Namespace) -> Iterator[None]:
    """Trains, and stops after each checkpoint to be told whether to go on."""
    training = prepare(options)
    images, labels = (column.to(training.device) for column in read_mnist(options.data, options.limit_train))
    sampler = DistributedSampler(range(len(images)), seed=options.seed)
    for training.epoch in range(1, options.epochs + 1):
        sampler.set_epoch(training.epoch)
        for batch in torch.tensor(list(sampler)).split(options.batch_size):
            training.learn(images[batch.to(training.device)], labels[batch.to(training.device)])
            if options.every and training.step % options.every == 0:
                training.save(options.output / f"step_{training.step:06}.pt")
                yield
        if not options.every:
            training.save(options.output / f"epoch_{training.epoch:04}.pt")
            yield


def train(options: argparse.Namespace) -> None:
    mark_begun(options.output)  # watch
    for _ in checkpoints(options):
        if options.stop_folder and should_stop(options.stop_folder):  # watch
            break
    mark_done(options.output)  # watch


@contextmanager
def process_group(device: str) -> Iterator[None]:
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="of the idx files")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="where checkpoints go")
    parser.add_argument("--stop-folder", type=Path, metavar="FOLDER", help="the output folder of tally watch")
    parser.add_argument("--epochs", type=int, default=10, metavar="N", help="at most, default %(default)s")
    parser.add_argument("--every", type=int, metavar="N", help="a checkpoint every N steps, not every epoch")
    parser.add_argument("--batch-size", type=int, default=64, metavar="N", help="of a process, default %(default)s")
    parser.add_argument("--lr", type=float, default=1e-3, metavar="X", help="default %(default)s")
    parser.add_argument("--limit-train", type=int, metavar="N", help="the first N images only")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default %(default)s")
    default = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=("cpu", "cuda"), default=default, help="default: a GPU if there is one")
    parser.add_argument(
        "--amp", action=argparse.BooleanOptionalAction, default=None,
        help="mixed precision: float16 on a GPU (the default there), bfloat16 on the CPU",
    )  # fmt: skip
    options = parser.parse_args()
    if options.amp is None:
        options.amp = options.device == "cuda"
    if "RANK" not in os.environ:
        parser.error("start it with torchrun: torchrun --standalone --nproc-per-node 2 train_mnist_ddp.py …")
    with process_group(options.device):
        train(options)


if __name__ == "__main__":
    main()
