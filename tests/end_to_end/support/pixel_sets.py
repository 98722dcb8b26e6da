# SPDX-License-Identifier: Apache-2.0
"""Small sets whose samples are images: masks of classes (segmentation) and maps of values (regression)."""

from pathlib import Path

import numpy as np
import torch
from tally_data import DataSetWriter
from torch import nn

SAMPLES, HEIGHT, WIDTH, CLASSES = 23, 5, 7, 6
MAP_HEIGHT = 6
MASK_OPTIONS = ("--batch-size", 4, "--save", "labels,masks")
MAP_OPTIONS = ("--batch-size", 4, "--metrics", "all", "--intervals", "bootstrap", "--bootstrap-replicas", 40)


class AsTheyAre(nn.Module):
    """The input is what the model says."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 1.0 * x


class Halved(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, :, ::2]


def write_masks(path: Path, scores: np.ndarray, labels: np.ndarray, ignore_index: int | None, groups: bool = False) -> Path:
    samples, classes, *_ = scores.shape
    with DataSetWriter(path, task="segmentation", num_classes=classes, num_samples=samples,
                       ignore_index=ignore_index) as out:  # fmt: skip
        out.add_input("x", dtype="float32", shape=scores.shape[1:], data=scores)
        out.add_mask(height=labels.shape[1], width=labels.shape[2], dtype=str(labels.dtype), data=labels)
        if groups:
            out.add_group("site", np.arange(samples, dtype=np.int32) % 2)
    return path


def mask_scores(name: str) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Scores, labels and the ignored index; scores are few numbers, so that many are tied."""
    random = np.random.default_rng(7)
    scores = random.integers(-3, 4, (SAMPLES, CLASSES, HEIGHT, WIDTH)).astype(np.float32)
    labels = np.where(random.random((SAMPLES, HEIGHT, WIDTH)) < 0.5, scores.argmax(1),
                      random.integers(0, CLASSES, (SAMPLES, HEIGHT, WIDTH)))  # fmt: skip
    if name == "absent":  # class 2 is nowhere, class 3 only predicted, class 4 only a label
        labels[(labels == 2) | (labels == 3)] = 0
        scores[:, 2] = scores[:, 4] = -9
    if name == "one_class":
        labels[:] = 3
    if name == "ignored":
        labels[random.random(labels.shape) < 0.3] = 255
        labels[5] = 255
        return scores, labels.astype(np.uint8), 255
    if name == "ignored_class":
        return scores, labels.astype(np.int16), 2
    if name == "all_ignored":
        return scores, np.full(labels.shape, -100, np.int64), -100
    return scores, labels.astype(np.int32), None


def write_maps(path: Path, values: np.ndarray, labels: np.ndarray) -> Path:
    samples, height, width = labels.shape
    with DataSetWriter(path, task="regression", num_classes=1, num_samples=samples) as out:
        out.add_input("x", dtype="float32", shape=values.shape[1:], data=values)
        out.add_map(height=height, width=width, data=labels)
        out.add_group("site", np.arange(samples, dtype=np.int32) % 2)
    return path


def map_values() -> tuple[np.ndarray, np.ndarray]:
    """Predictions and labels; a third of the pixels is not scored, of image 5 none, and no prediction need be there."""
    random = np.random.default_rng(8)
    labels = random.normal(3, 2, (SAMPLES, MAP_HEIGHT, WIDTH)).astype(np.float32)
    values = labels + random.normal(0, 1, labels.shape).astype(np.float32)
    labels[random.random(labels.shape) < 0.3] = np.nan
    labels[5] = np.nan
    values[np.isnan(labels) & (random.random(labels.shape) < 0.5)] = np.inf
    return values, labels
