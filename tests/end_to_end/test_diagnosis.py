# SPDX-License-Identifier: Apache-2.0
"""Common mistakes on scikit-learn's digits: each has its symptom behind the table and in the report, and changes no figure."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import Evaluate, Result
from launch import Program
from sklearn.datasets import load_digits
from tally_data import DataSetWriter, ImageEncoding
from torch import nn

RIGHT = ImageEncoding("L", 1 / 16, (0.3,), (0.4,))


class Net(nn.Module):
    """Linear: images [n, 1, 8, 8] to logits [n, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.linear(image.flatten(1))


class Softmax(Net):
    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return super().forward(image).softmax(1)


class Constant(Net):
    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return super().forward(image) * 0 + self.linear.bias


class FixedBatch(Net):
    """The size of the example's batch is part of its trace."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.linear(image.reshape(int(image.shape[0]), 64))


@dataclass(frozen=True)
class Digits:
    """The samples that were not trained with, and trained weights."""

    images: np.ndarray  # uint8 [n, 8, 8], 0 to 16
    labels: np.ndarray
    weights: dict[str, torch.Tensor]

    def model(self, folder: Path, net: type[Net] = Net) -> Path:
        module = net().eval()
        module.load_state_dict(self.weights)
        path = folder / f"{net.__name__}.pt"
        torch.jit.trace(module, torch.zeros(4, 1, 8, 8)).save(str(path))
        return path

    def write(self, path: Path, encoding: ImageEncoding = RIGHT, labels: np.ndarray | None = None) -> Path:
        labels = self.labels if labels is None else labels
        with DataSetWriter(path, task="multiclass", num_classes=10, num_samples=len(labels)) as out:
            out.add_image(height=8, width=8, encoding=encoding, data=self.images[..., None])
            out.add_target("label", labels)
        return path


@pytest.fixture(scope="module")
def digits() -> Digits:
    data = load_digits()
    pixels = torch.from_numpy((data.images[:1437] / 16 - 0.3) / 0.4).float().reshape(-1, 1, 8, 8)
    torch.manual_seed(0)
    net = Net()
    optimiser = torch.optim.LBFGS(net.parameters(), max_iter=60)
    labels = torch.from_numpy(data.target[:1437])

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        value = nn.functional.cross_entropy(net(pixels), labels) + 1e-3 * net.linear.weight.square().sum()
        value.backward()
        return value

    optimiser.step(loss)
    return Digits(data.images[1437:].astype(np.uint8), data.target[1437:], net.state_dict())


def diagnosis(result: Result) -> dict[str, str]:
    found = {one["code"]: one["text"] for one in result.report["diagnosis"]}
    for text in found.values():
        assert text in result.run.stdout
    return found


@pytest.fixture
def codes(evaluate: Evaluate, digits: Digits, tmp_path: Path) -> Callable[..., dict[str, str]]:
    def run(net: type[Net] = Net, **data: object) -> dict[str, str]:
        return diagnosis(evaluate(digits.model(tmp_path, net), digits.write(tmp_path / "digits.h5", **data)))

    return run


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_right_has_no_symptom(evaluate: Evaluate, digits: Digits, tmp_path: Path, ranks: int) -> None:
    found = evaluate(digits.model(tmp_path), digits.write(tmp_path / "digits.h5"), ranks=ranks)
    assert found.value("accuracy") > 0.85
    assert found.report["diagnosis"] == []
    assert "Diagnosis" not in found.run.stdout


@pytest.mark.parametrize("ranks", [1, 3])
def test_labels_that_are_shifted(evaluate: Evaluate, digits: Digits, tmp_path: Path, ranks: int) -> None:
    data = digits.write(tmp_path / "digits.h5", labels=(digits.labels + 1) % 10)
    found = diagnosis(evaluate(digits.model(tmp_path), data, ranks=ranks))
    assert list(found) == ["labels_shifted"]
    assert "shifted by -1" in found["labels_shifted"]


def test_classes_in_another_order(codes: Callable, digits: Digits) -> None:
    order = np.array([2, 1, 0, 3, 4, 9, 7, 8, 5, 6])
    assert list(codes(labels=order[digits.labels])) == ["classes_permuted"]


def test_another_scale(codes: Callable) -> None:
    assert "pixels_of_other_scale" in codes(encoding=ImageEncoding("L", 1 / 255, (0.3,), (0.4,)))


def test_no_normalisation(codes: Callable) -> None:
    assert "pixels_not_normalised" in codes(encoding=ImageEncoding("L", 1.0, (0.0,), (1.0,)))


def test_floats_that_nobody_normalised(evaluate: Evaluate, digits: Digits, tmp_path: Path) -> None:
    with DataSetWriter(tmp_path / "floats.h5", task="multiclass", num_classes=10, num_samples=len(digits.labels)) as out:
        out.add_input("image", dtype="float32", shape=(1, 8, 8), data=digits.images[:, None].astype(np.float32))
        out.add_target("label", digits.labels)
    assert "pixels_not_normalised" in diagnosis(evaluate(digits.model(tmp_path), tmp_path / "floats.h5"))


def test_probabilities_taken_as_logits(codes: Callable, evaluate: Evaluate, digits: Digits, tmp_path: Path) -> None:
    assert list(codes(Softmax)) == ["probabilities_as_logits"]
    said = evaluate(digits.model(tmp_path, Softmax), tmp_path / "digits.h5", "--outputs", "probabilities")
    assert said.report["diagnosis"] == []


def test_constant_outputs(codes: Callable) -> None:
    assert set(codes(Constant)) == {"chance", "one_class_predicted", "constant_outputs"}


def test_a_fixed_batch_in_a_trace(tally: Program, digits: Digits, tmp_path: Path) -> None:
    model, data = digits.model(tmp_path, FixedBatch), digits.write(tmp_path / "digits.h5")
    options = ("--model", model, "--data", data, "--output", tmp_path / "run", "--progress", "off")
    tally("evaluate", *options).must_fail(4, "Batches of 4 samples run", "--batch-size 4")
    tally("evaluate", *options, "--batch-size", 4).must_succeed()


def test_channels_in_the_other_order(evaluate: Evaluate, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    colours = np.array([124, 104, 60]) + rng.normal(0, 20, (300, 1, 1, 3))
    images = (colours + rng.normal(0, 40, (300, 6, 6, 3))).clip(0, 255).astype(np.uint8)
    net = torch.jit.trace(nn.Sequential(nn.Flatten(), nn.Linear(108, 3)), torch.zeros(2, 3, 6, 6))
    net.save(str(tmp_path / "net.pt"))
    for channels, stored, symptoms in (("RGB", images, []), ("RGB", images[..., ::-1], ["channels_reversed"])):
        encoding = ImageEncoding(channels, 1 / 255, (124 / 255, 104 / 255, 60 / 255), (0.2, 0.2, 0.2))
        with DataSetWriter(tmp_path / "d.h5", task="multiclass", num_classes=3, num_samples=300, overwrite=True) as out:
            out.add_image(height=6, width=6, encoding=encoding, data=np.ascontiguousarray(stored))
            out.add_target("label", rng.integers(0, 3, 300))
        found = diagnosis(evaluate(tmp_path / "net.pt", tmp_path / "d.h5"))
        assert [code for code in found if code == "channels_reversed"] == symptoms


def test_every_label_for_all_samples(evaluate: Evaluate, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    net = torch.jit.trace(nn.Sequential(nn.Linear(8, 4), nn.Sigmoid()), torch.zeros(2, 8))
    net.save(str(tmp_path / "net.pt"))
    with DataSetWriter(tmp_path / "d.h5", task="multilabel", num_classes=4, num_samples=200) as out:
        out.add_input("x", dtype="float32", shape=(8,), data=rng.standard_normal((200, 8), dtype=np.float32))
        out.add_target("label", rng.integers(0, 2, (200, 4)))
    found = diagnosis(evaluate(tmp_path / "net.pt", tmp_path / "d.h5"))
    assert set(found) == {"all_labels_predicted", "probabilities_as_logits"}
