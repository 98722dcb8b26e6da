# SPDX-License-Identifier: Apache-2.0
"""The small language model has learnt something, and its file gives what it gives: else it would test little."""

import json
from pathlib import Path

import h5py
import pytest
import torch
from character_model import SPARE_TOKENS, Trained, documentation, train_character_model


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train_character_model(tmp_path_factory.mktemp("model") / "m.pt")


@torch.inference_mode()
def mean_loss(module: torch.nn.Module, data: Path) -> float:
    with h5py.File(data) as file:
        ids, labels = (torch.from_numpy(file[name][...]).long() for name in ("inputs/input_ids", "targets/label"))
        assert file.attrs["num_classes"] <= module(ids[:1]).shape[2]
    return torch.nn.functional.cross_entropy(module(ids).flatten(0, 1), labels.flatten()).item()


def test_it_has_learnt(trained: Trained, tmp_path: Path) -> None:
    text = documentation()
    data = trained.prepare(tmp_path, {"a": text[:3000], "b": text[-3000:]}, "--max-length", 64, "--prefix-token", "<s>")
    chance = torch.log(torch.tensor(float(len(trained.characters)))).item()
    assert mean_loss(trained.module, data) < 0.7 * chance


def test_file(trained: Trained) -> None:
    extra = {"tally.json": ""}
    exported = torch.jit.load(str(trained.path), _extra_files=extra).eval()
    card, num_tokens = json.loads(extra["tally.json"]), len(trained.characters) + SPARE_TOKENS
    assert card["outputs"][0]["shape"] == ["batch", "sequence", num_tokens]
    for size in ((1, 1), (3, 17), (8, 100)):
        ids = torch.randint(0, num_tokens, size)
        assert torch.equal(exported(ids), trained.module(ids)) and exported(ids).shape == (*size, num_tokens)


def test_same_seed_same_weights(tmp_path: Path) -> None:
    states = [
        train_character_model(tmp_path / f"{number}.pt", "to be or not to be, " * 9, seed).module.state_dict()
        for number, seed in enumerate((4, 4, 5))
    ]
    same = [all(torch.equal(states[0][name], other[name]) for name in states[0]) for other in states[1:]]
    assert same == [True, False]


def test_choices(trained: Trained, tmp_path: Path) -> None:
    questions = [{"id": "q", "question": "The data", "choices": ["set", "zzz"], "gold": 0}]
    with h5py.File(trained.prepare_choices(tmp_path, questions)) as file:
        assert file["targets/choice"][...].tolist() == [0, 1] and file.attrs["num_classes"] == len(trained.characters)
