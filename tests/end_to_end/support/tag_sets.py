# SPDX-License-Identifier: Apache-2.0
"""Small sets of the task token-classification, a model whose figures can be told exactly, and what seqeval says of both."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import small
import torch
from tally_data.set_file import SetFile

IGNORED = -100
NUM_IDS = 40
TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "E-LOC", "S-ORG")


class Tagger(torch.nn.Module):
    """Scores each token by itself: the same bits in any batch, multiples of 1/8, with ties."""

    def __init__(self, num_classes: int = len(TAGS)) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(4)
        self.table = torch.nn.Embedding(NUM_IDS, num_classes)
        self.table.weight.data = torch.randint(-20, 20, (NUM_IDS, num_classes), generator=generator) / 8.0

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.table(input_ids)


def save_tagger(module: torch.nn.Module, path: Path, num_classes: int = len(TAGS)) -> Path:
    """With a card, without which batches are not sorted by length."""
    scores = {"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", "sequence", num_classes]}
    ids = {"name": "input_ids", "dtype": "int64", "shape": ["batch", "sequence"]}
    card = small.card(num_classes, inputs=[ids], outputs=[scores])
    return small.save_model(module, path, json.dumps(card))


@dataclass(frozen=True)
class Sentences:
    """Of each sample its tokens and their classes, IGNORED where they are not scored."""

    ids: list[np.ndarray]
    labels: list[np.ndarray]

    def write(
        self, path: Path, class_names: Iterable[str] | None = TAGS, num_classes: int = len(TAGS), dtype: str = "int64",
        group: np.ndarray | None = None,
    ) -> Path:  # fmt: skip
        samples, longest = len(self.ids), max(map(len, self.ids))
        with SetFile(path) as out:
            for name, value in (("task", "token-classification"), ("num_classes", num_classes), ("ignore_index", IGNORED)):
                out.set_attribute(name, value)
            if class_names is not None:
                out.add_class_names(list(class_names))
            out.add_sequence("/inputs/input_ids", "int32", samples, longest, 0).append(padded(self.ids, longest, 0))
            out.add_column("/lengths", "int32", samples).append(np.array(list(map(len, self.ids)), np.int32))
            labels = padded(self.labels, longest, IGNORED).astype(dtype)
            out.add_column("/targets/label", dtype, samples, (longest,)).append(labels)
            if group is not None:
                out.add_column("/groups/site", "int32", samples).append(group.astype(np.int32))
        return path


def padded(rows: list[np.ndarray], length: int, value: int) -> np.ndarray:
    return np.stack([np.pad(row, (0, length - len(row)), constant_values=value) for row in rows]).astype(np.int32)


def make_sentences(samples: int = 61, longest: int = 24, seed: int = 5) -> Sentences:
    """About half of the tokens are predicted right; sample 7 has none that is scored."""
    random = np.random.default_rng(seed)
    best = Tagger().table.weight.detach().numpy().argmax(1)
    ids = [random.integers(0, NUM_IDS, random.integers(1, longest + 1)) for _ in range(samples)]
    labels = [np.where(random.random(len(row)) < 0.5, best[row], random.integers(0, len(TAGS), len(row))) for row in ids]
    for row in labels:
        row[random.random(len(row)) < 0.3] = IGNORED
    labels[7][:] = IGNORED
    return Sentences(ids, labels)


@dataclass(frozen=True)
class Expected:
    """Of each sample, over the tokens that are scored, in PyTorch; -1 is no prediction."""

    labels: list[np.ndarray]
    predictions: list[np.ndarray]
    losses: list[np.ndarray]

    def only(self, keep: Iterable[int]) -> "Expected":
        kept = list(keep)
        return Expected(*([values[i] for i in kept] for values in (self.labels, self.predictions, self.losses)))

    @property
    def tokens(self) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate(self.labels), np.concatenate(self.predictions)

    @property
    def tags(self) -> tuple[list[list[str]], list[list[str]]]:
        """For seqeval, as run_ner.py of transformers makes them."""
        return tuple([[TAGS[c] if c >= 0 else "O" for c in row] for row in rows] for rows in (self.labels, self.predictions))


@torch.inference_mode()
def expected(module: torch.nn.Module, sentences: Sentences) -> Expected:
    found = Expected([], [], [])
    for ids, labels in zip(sentences.ids, sentences.labels, strict=True):
        scored = labels != IGNORED
        logits = module(torch.from_numpy(ids)[None])[0].double()[torch.from_numpy(scored)]
        finite = logits.isfinite().all(1).numpy()
        truth = torch.from_numpy(labels[scored]).long()
        found.labels.append(labels[scored])
        found.predictions.append(np.where(finite, logits.numpy().argmax(1), -1))
        found.losses.append(torch.nn.functional.cross_entropy(logits, truth, reduction="none").numpy())
    return found
