# SPDX-License-Identifier: Apache-2.0
"""A detector that finds in the images of one prepared data set what it is told to find."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import small
import torch
from torch import nn


@dataclass(frozen=True)
class Found:
    """In one image. boxes: [n, 4], x1, y1, x2, y2 in pixels of the model's input; labels: classes from 0 on."""

    boxes: np.ndarray
    scores: np.ndarray
    labels: np.ndarray


NOTHING = Found(np.empty((0, 4)), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Tables:
    """A row for each image. What is behind a row's count looks like a detection of class 0, if there are counts."""

    boxes: torch.Tensor  # float32 [N, K, 4]
    scores: torch.Tensor  # float32 [N, K]
    labels: torch.Tensor  # int64 [N, K]
    counts: torch.Tensor  # int64 [N]


def _fill(images: list[Found], least: int, with_counts: bool) -> Tables:
    counts = [len(found.scores) for found in images]
    size = (len(images), max(least, *counts))
    boxes = np.tile(np.array([0, 0, 1000, 1000], np.float32), (*size, 1))
    scores, labels = np.ones(size, np.float32), np.full(size, 0 if with_counts else -1, np.int64)
    for row, (found, count) in enumerate(zip(images, counts, strict=True)):
        boxes[row, :count], scores[row, :count], labels[row, :count] = found.boxes, found.scores, found.labels
    return Tables(*map(torch.from_numpy, (boxes, scores, labels)), torch.tensor(counts))


class Rows(nn.Module):
    """The tables' rows of samples."""

    def __init__(self, tables: Tables, with_counts: bool, label_dtype: torch.dtype) -> None:
        super().__init__()
        self.with_counts = with_counts
        self.register_buffer("boxes", tables.boxes)
        self.register_buffer("scores", tables.scores)
        self.register_buffer("labels", tables.labels.to(label_dtype))
        self.register_buffer("counts", tables.counts.to(label_dtype))

    def forward(self, index: torch.Tensor) -> list[torch.Tensor]:
        rows = [self.boxes[index], self.scores[index], self.labels[index]]
        return rows + [self.counts[index]] if self.with_counts else rows


class ByIndex(nn.Module):
    """index: int64 [batch], the number of the sample."""

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self.rows = rows

    def forward(self, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        rows = self.rows(index)
        return rows[0], rows[1], rows[2]


class ByIndexCounted(ByIndex):
    def forward(self, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        rows = self.rows(index)
        return rows[0], rows[1], rows[2], rows[3]


class Recognise(nn.Module):
    """Knows an image by the sum of its weighted pixels; of equal images the first."""

    def __init__(self, images: torch.Tensor) -> None:
        """images: float32 [N, C, H, W], as the model is given them."""
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        weights = torch.randn(images.shape[1:], generator=generator, dtype=torch.float64)
        self.register_buffer("weights", weights)
        self.register_buffer("keys", (images.double() * weights).sum((1, 2, 3)))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        wanted = (image.double() * self.weights).sum((1, 2, 3))
        return (wanted[:, None] - self.keys[None, :]).abs().argmin(1)


class ByImage(ByIndex):
    """image: float32 [batch, C, H, W]."""

    def __init__(self, rows: Rows, recognise: Recognise) -> None:
        super().__init__(rows)
        self.recognise = recognise

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        rows = self.rows(self.recognise(image))
        return rows[0], rows[1], rows[2]


class ByImageCounted(ByImage):
    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        rows = self.rows(self.recognise(image))
        return rows[0], rows[1], rows[2], rows[3]


def _normalised(file: h5py.File) -> torch.Tensor:
    image = file["inputs/image"]
    values = (image[...] * image.attrs["scale"] - image.attrs["mean"]) / image.attrs["std"]
    return torch.from_numpy(values.astype(np.float32)).permute(0, 3, 1, 2).contiguous()


def save_detector(
    data: Path, found: Mapping[int, Found], model: Path, *, with_counts: bool = True,
    label_dtype: torch.dtype = torch.int64, places: int = 1, kind: str | None = None,
) -> Path:  # fmt: skip
    """Writes `model`, a TorchScript with card that returns for each image of `data` what is `found` in it.

    found: by /images/id; images that are missing have nothing. It takes the data set's `index` or its `image`, and
    returns boxes, scores and labels, filled up to the most detections of an image, at least to `places`; behind an
    image's own there is a detection that must not count: with num_detections, or with a label of -1. kind: what the
    card says that its outputs are.
    """
    with h5py.File(data) as file:
        tables = _fill([found.get(identity, NOTHING) for identity in file["images/id"][...]], places, with_counts)
        rows = Rows(tables, with_counts, label_dtype)
        if "image" in file["inputs"]:
            images = _normalised(file)
            module = (ByImageCounted if with_counts else ByImage)(rows, Recognise(images))
            taken = {"name": "image", "dtype": "float32", "shape": ["batch", *images.shape[1:]]}
        else:
            module = (ByIndexCounted if with_counts else ByIndex)(rows)
            taken = {"name": "index", "dtype": "int64", "shape": ["batch"]}
    return small.save_model(module, model, json.dumps(_card(taken, tables, with_counts, label_dtype, kind)))


def _card(
    taken: dict[str, Any], tables: Tables, with_counts: bool, label_dtype: torch.dtype, kind: str | None
) -> dict[str, Any]:
    places, whole = tables.scores.shape[1], str(label_dtype).removeprefix("torch.")
    returned = [
        {"name": "boxes", "dtype": "float32", "shape": ["batch", places, 4]},
        {"name": "scores", "dtype": "float32", "shape": ["batch", places]},
        {"name": "labels", "dtype": whole, "shape": ["batch", places]},
        {"name": "num_detections", "dtype": whole, "shape": ["batch"]},
    ]
    if kind is not None:
        returned[0]["kind"] = kind
    return {
        "tally_card": 1,
        "inputs": [taken],
        "outputs": returned[: 4 if with_counts else 3],
        "fixed_batch": None,
        "weights": "frozen",
        "source": {"model": "tests"},
    }
