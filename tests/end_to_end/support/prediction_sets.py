# SPDX-License-Identifier: Apache-2.0
"""Data sets without targets, and a model whose outputs the task predict saves."""

from pathlib import Path

import numpy as np
import torch
from tally_data import DataSetWriter
from torch import nn

SAMPLES = 53
FEATURES = 4
OPTIONS = ("--batch-size", 8)


class Several(nn.Module):
    """A value, a map and an integer for each sample."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return 2 * x[:, 0], x.view(-1, 2, 2) + 1, x.argmax(1)


def features(samples: int = SAMPLES) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(samples, FEATURES)).astype(np.float32)


def write_set(path: Path, values: np.ndarray, groups: bool = False) -> Path:
    with DataSetWriter(path, task="predict", num_samples=len(values)) as out:
        out.add_input("x", dtype="float32", shape=(FEATURES,), data=values)
        if groups:
            out.add_group("site", np.arange(len(values), dtype=np.int32) % 2)
    return path
