# SPDX-License-Identifier: Apache-2.0
"""Small sets with models that take their time over each batch, so that a run can be ended in the midst of them."""

import json
from collections.abc import Callable
from pathlib import Path

import pixel_sets
import small
import tag_sets
import torch
from task_cases import TaskCase
from torch import nn


class Slowly(nn.Module):
    """What `net` returns, after as many products of matrices as `rounds` says, about 0.05 ms each."""

    def __init__(self, net: nn.Module, rounds: int) -> None:
        super().__init__()
        self.net = net
        self.rounds = rounds
        self.weight = nn.Parameter(torch.full((128, 128), 1 / 128))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = self.net(x)
        spent = self.weight * found.clamp(0, 1).mean()  # depends on the input: nothing can be computed beforehand
        for _ in range(self.rounds):
            spent = torch.mm(spent, self.weight)
        return found + 0.0 * spent.mean()


def multiclass(folder: Path, rounds: int, samples: int = small.NUM_SAMPLES) -> TaskCase:
    data = small.make_set(samples).write(folder / "set.h5")
    model = small.save_model(Slowly(small.TinyNet(), rounds), folder / "m.pt", json.dumps(small.card()))
    return TaskCase(model, data, ("--batch-size", 4, "--metrics", "all,auroc_macro", "--save", "labels,logits"))


def segmentation(folder: Path, rounds: int) -> TaskCase:
    data = pixel_sets.write_masks(folder / "set.h5", *pixel_sets.mask_scores("ignored"), groups=True)
    model = small.save_model(Slowly(pixel_sets.AsTheyAre(), rounds), folder / "m.pt")
    return TaskCase(model, data, ("--batch-size", 1, "--save", "labels,masks"))


def token_classification(folder: Path, rounds: int) -> TaskCase:
    """Sorted by length, in blocks of three batches."""
    data = tag_sets.make_sentences(83).write(folder / "set.h5")
    model = tag_sets.save_tagger(Slowly(tag_sets.Tagger(), rounds), folder / "m.pt")
    return TaskCase(model, data, ("--batch-size", 2, "--bucket-batches", 3))


SLOW_CASES: dict[str, Callable[[Path, int], TaskCase]] = {
    make.__name__: make for make in (multiclass, segmentation, token_classification)
}
