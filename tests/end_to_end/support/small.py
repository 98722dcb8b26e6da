# SPDX-License-Identifier: Apache-2.0
"""A synthetic data set of a few kilobytes and seeded networks for it: quick, and different in every sample."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import h5py
import numpy as np
import torch
from tally_data import DataSetWriter, ImageEncoding
from tally_data.identity import identity
from torch import nn

NUM_SAMPLES = 103  # no multiple of 2, 3, 5 or 8
NUM_CLASSES = 7
BATCH = 8
HEIGHT = WIDTH = 8
ENCODING = ImageEncoding("RGB", 1 / 255, (0.5, 0.4, 0.6), (0.25, 0.2, 0.3))
# Pixels stay at most this bright, so that a brighter one marks a sample (odd_models.py).
MAX_PIXEL = 200


class TinyNet(nn.Module):
    """Input [batch, channels, height, width]; returns logits [batch, num_classes]."""

    def __init__(self, num_classes: int = NUM_CLASSES, channels: int = 3, seed: int = 1) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.conv = nn.Conv2d(channels, 12, 3, padding=1)
        self.norm = nn.BatchNorm2d(12)
        self.dropout = nn.Dropout(0.5)  # shows whether the model runs in evaluation mode
        self.linear = nn.Linear(12, num_classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(self.conv(image)).relu().mean(dim=(2, 3))
        return 5.0 * self.linear(self.dropout(hidden))


def card(num_classes: int = NUM_CLASSES, **changes: object) -> dict:
    return {
        "tally_card": 1,
        "inputs": [{"name": "image", "dtype": "float32", "shape": ["batch", 3, HEIGHT, WIDTH]}],
        "outputs": [{"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", num_classes]}],
        "fixed_batch": None,
        "weights": "swappable",
        "num_classes": num_classes,
        "source": {"model": "tests"},
    } | changes


def save_model(module: nn.Module, path: Path, card_text: str | None = None) -> Path:
    """As TorchScript in training mode, which tally must leave; without a card if there is no text."""
    extra = {} if card_text is None else {"tally.json": card_text}
    torch.jit.script(module.train()).save(str(path), _extra_files=extra)
    return path


def normalised(images: np.ndarray) -> torch.Tensor:
    """uint8 [n, H, W, 3] -> float32 [n, 3, H, W]"""
    values = (images * ENCODING.scale - np.array(ENCODING.mean)) / np.array(ENCODING.std)
    return torch.from_numpy(values.astype(np.float32)).permute(0, 3, 1, 2)


@dataclass(frozen=True)
class SmallSet:
    """The arrays that a data set file is made of."""

    images: np.ndarray  # uint8 [n, 8, 8, 3]
    labels: np.ndarray  # int64 [n]
    num_classes: int = NUM_CLASSES
    ignore_index: int | None = None
    groups: dict[str, np.ndarray] = field(default_factory=dict)  # int32 [n] each

    def write(self, path: Path, checksums: bool = True) -> Path:
        names = [f"class {index}" for index in range(self.num_classes)]
        with DataSetWriter(
            path, task="multiclass", num_classes=self.num_classes, num_samples=len(self.labels), class_names=names,
            ignore_index=self.ignore_index, checksums=checksums, rows_per_block=16, overwrite=True,
        ) as out:  # fmt: skip
            out.add_image("image", height=HEIGHT, width=WIDTH, encoding=ENCODING, data=self.images)
            out.add_target("label", self.labels)
            for name, codes in self.groups.items():
                out.add_group(name, codes)
        return path

    def write_shards(self, index: Path, shards: int) -> Path:
        listed = []
        for number, rows in enumerate(np.array_split(np.arange(len(self.labels)), shards)):
            groups = {name: codes[rows] for name, codes in self.groups.items()}
            part = replace(self, images=self.images[rows], labels=self.labels[rows], groups=groups)
            path = part.write(index.with_name(f"part-{number}.h5"))
            with h5py.File(path) as file:
                listed.append({"file": path.name, "rows": len(rows), "identity": identity(file)})
        content = {"tally_shards": 1, "task": "multiclass", "num_samples": len(self.labels), "shards": listed}
        index.write_text(json.dumps(content))
        return index

    def with_bright_sample(self, *indices: int) -> "SmallSet":
        images = self.images.copy()
        images[list(indices)] = 255
        return replace(self, images=images)


def make_set(num_samples: int = NUM_SAMPLES, num_classes: int = NUM_CLASSES, seed: int = 3) -> SmallSet:
    """Labels are those that TinyNet finds for about half of the samples; the last class has no sample."""
    rng = np.random.default_rng(seed)
    tint = rng.integers(0, MAX_PIXEL // 2, (num_samples, 1, 1, 3))
    noise = rng.integers(0, MAX_PIXEL // 2 + 1, (num_samples, HEIGHT, WIDTH, 3))
    images = (tint + noise).astype(np.uint8)
    with torch.inference_mode():
        predicted = TinyNet(num_classes).eval()(normalised(images)).argmax(1).numpy()
    labels = np.where(rng.random(num_samples) < 0.5, predicted, rng.integers(0, num_classes - 1, num_samples))
    return SmallSet(images, labels.astype(np.int64), num_classes)


def columns(path: Path) -> dict[str, np.ndarray]:
    """The columns of a predictions.h5."""
    with h5py.File(path) as file:
        return {name: dataset[...] for name, dataset in file.items()}


def report(folder: Path) -> dict:
    return json.loads((folder / "report.json").read_text())
