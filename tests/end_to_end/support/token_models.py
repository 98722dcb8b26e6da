# SPDX-License-Identifier: Apache-2.0
"""A language model whose figures can be told exactly, and PyTorch's own loop over a data set's rows."""

import json
from pathlib import Path

import h5py
import numpy as np
import small
import torch


@torch.inference_mode()
def losses_of(module: torch.nn.Module, path: Path) -> list[np.ndarray]:
    """Of each document, -log(probability) of the scored tokens by PyTorch, in double, one window at a time."""
    with h5py.File(path) as file:
        found: list[list[np.ndarray]] = [[] for _ in file["units/bytes"]]
        columns = (file[name][...] for name in ("inputs/input_ids", "targets/label", "lengths", "targets/unit"))
        for ids, label, length, unit in zip(*columns, strict=True):
            logits = module(torch.from_numpy(ids[None, :length]).long())[0].double()
            labels = torch.from_numpy(label[:length]).long()
            scored = labels != -100
            losses = torch.nn.functional.cross_entropy(logits[scored], labels[scored], reduction="none")
            found[unit].append(losses.numpy())
    return [np.concatenate(one) for one in found]


class Bigram(torch.nn.Module):
    """Scores by the token before alone: the same bits in any batch, multiples of 1/8, with ties."""

    def __init__(self, num_tokens: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.table = torch.nn.Embedding(num_tokens, num_tokens)
        self.table.weight.data = torch.randint(-40, 40, (num_tokens, num_tokens), generator=generator) / 8.0

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.table(input_ids)


def save(module: torch.nn.Module, path: Path, num_tokens: int) -> Path:
    """With a card, without which models are given the masks, too, and batches are not sorted by length."""
    scores = {"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", "sequence", num_tokens]}
    ids = {"name": "input_ids", "dtype": "int64", "shape": ["batch", "sequence"]}
    card = small.card(inputs=[ids], outputs=[scores])
    del card["num_classes"]
    return small.save_model(module, path, json.dumps(card))


def save_bigram(path: Path, num_tokens: int) -> tuple[Bigram, Path]:
    module = Bigram(num_tokens)
    return module, save(module, path, num_tokens)
