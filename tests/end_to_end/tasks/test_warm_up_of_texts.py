# SPDX-License-Identifier: Apache-2.0
"""A model of texts is tried with texts of the usual length, and all the same nothing comes to light in the middle of the loop."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from conftest import Evaluate
from launch import Program
from tally_data import DataSetWriter

STORED, SHORT, SAMPLES, BATCH = 48, 6, 120, 8


class Net(torch.nn.Module):
    """Classes of texts, by words and their places, of which it knows some."""

    def __init__(self, places: int, only_batches_of: int = 0) -> None:
        super().__init__()
        self.only_batches_of = only_batches_of
        torch.manual_seed(0)
        self.words, self.places = torch.nn.Embedding(50, 16), torch.nn.Embedding(places, 16)
        self.hidden, self.head = torch.nn.Linear(16, 32), torch.nn.Linear(32, 3)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        if self.only_batches_of > 0 and input_ids.shape[0] != self.only_batches_of:
            raise ValueError("batches of one size only")
        found = self.words(input_ids) + self.places(torch.arange(input_ids.shape[1]))
        found = torch.relu(self.hidden(found)) * (input_ids != 0).unsqueeze(2)
        return self.head(found.sum(1) / (input_ids != 0).sum(1, keepdim=True).clamp(min=1))


def write_texts(path: Path, num_long: int) -> Path:
    """Nearly all of them short."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, SHORT, SAMPLES)
    lengths[rng.choice(SAMPLES, num_long, replace=False)] = STORED
    words = rng.integers(1, 50, (SAMPLES, STORED)) * (np.arange(STORED) < lengths[:, None])
    with DataSetWriter(path, task="multiclass", num_classes=3, num_samples=SAMPLES) as out:
        out.add_sequence("/inputs/input_ids", "int32", SAMPLES, STORED, 0).append(words.astype(np.int32))
        out.add_column("/lengths", "int32", SAMPLES).append(lengths.astype(np.int32))
        out.add_target("label", rng.integers(0, 3, SAMPLES))
    return path


def save(path: Path, net: torch.nn.Module, fixed_batch: int | None = None) -> Path:
    card = {"tally_card": 1, "fixed_batch": fixed_batch, "num_classes": 3,
            "inputs": [{"name": "input_ids", "dtype": "int64", "shape": ["batch", "sequence"]}],
            "outputs": [{"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", 3]}]}  # fmt: skip
    torch.jit.save(torch.jit.script(net.eval()), path, _extra_files={"tally.json": json.dumps(card)})
    return path


@pytest.mark.parametrize("ranks", [None, 3])
def test_a_model_for_shorter_texts_fails_before_the_loop(ranks: int | None, tally: Program, tmp_path: Path) -> None:
    data, model = write_texts(tmp_path / "texts.h5", 1), save(tmp_path / "model.pt", Net(STORED - 1))
    run = tally("check", "--model", model, "--data", data, "--batch-size", BATCH, ranks=ranks)
    run.must_fail(4, "model.pt")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fixed", [False, True])
def test_scores_are_those_of_pytorch_on_any_ranks(fixed: bool, threads: int, evaluate: Evaluate, tmp_path: Path) -> None:
    data = write_texts(tmp_path / "texts.h5", 9)
    net = Net(STORED, BATCH if fixed else 0)
    model = save(tmp_path / "model.pt", net, BATCH if fixed else None)
    options = ("--batch-size", BATCH, "--threads", threads, "--save", "logits")
    results = [evaluate(model, data, *options, ranks=ranks) for ranks in (1, 2, 3, 5)]
    assert len({one.digests for one in results}) == 1
    with torch.inference_mode():
        plain = Net(STORED).eval()
        with h5py.File(data) as file:
            expected = plain(torch.from_numpy(file["inputs/input_ids"][:]))
    with h5py.File(results[0].folder / "predictions.h5") as file:
        np.testing.assert_allclose(file["logits"][:], expected.numpy(), atol=1e-5)
