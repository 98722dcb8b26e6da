# SPDX-License-Identifier: Apache-2.0
"""NaN and infinity on CPUs: the compiled form of a network shows them where LibTorch's operators do."""

import json
import platform
from pathlib import Path

import numpy as np
import pytest
import small
import torch
from conftest import Evaluate
from tally_data import DataSetWriter
from torch import nn

SAMPLES, LATE, SIDE = 80, 70, 32  # batches of 16: it is in the last one
BATCH = ("--batch-size", 16, "--on-nan", "wrong")


class Net(nn.Module):
    """Input [batch, 3, SIDE, SIDE]; enough layers for oneDNN Graph to take it, with what hides NaN in it between them."""

    def __init__(self, clamp: type[nn.Module]) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), clamp(), nn.Conv2d(32, 32, 3, padding=1, groups=32), clamp(), nn.Conv2d(32, 16, 1),
            nn.Conv2d(16, 48, 1), clamp(), nn.MaxPool2d(2), nn.Conv2d(48, 16, 1), nn.Hardswish(), nn.Conv2d(16, 64, 1), clamp(),
        )  # fmt: skip
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x).mean((2, 3)))


def write_model(net: Net, path: Path) -> Path:
    card = {"tally_card": 1, "fixed_batch": None, "weights": "swappable", "num_classes": 10, "source": {"model": "net"},
            "inputs": [{"name": "x", "dtype": "float32", "shape": ["batch", 3, SIDE, SIDE]}],
            "outputs": [{"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", 10]}]}  # fmt: skip
    return small.save_model(net, path, json.dumps(card))


def write_data(path: Path, late: float | None = None) -> Path:
    """Numbers of a seed; in one sample one of them, or all if it is finite, are `late`."""
    values = np.random.default_rng(0).standard_normal((SAMPLES, 3, SIDE, SIDE), dtype=np.float32)
    if late is not None:
        values[LATE] = late if np.isfinite(late) else values[LATE]
        values[LATE, 1, 5, 7] = late
    with DataSetWriter(path, task="multiclass", num_classes=10, num_samples=SAMPLES) as out:
        out.add_input("x", dtype="float32", shape=(3, SIDE, SIDE)).append(values)
        out.add_target("label").append(np.arange(SAMPLES) % 10)
    return path


def takes(options: tuple[object, ...]) -> bool:
    """Whether LibTorch's fuser compiles a network in the precision of these options here."""
    if platform.machine() != "x86_64" or "fp16" in options:
        return False
    return "bf16" not in options or "avx512bw" in Path("/proc/cpuinfo").read_text().split()


def found(evaluate: Evaluate, model: Path, data: Path, *options: object) -> dict:
    """What non_finite says, the same for any form, number of ranks and threads."""
    plain = evaluate(model, data, *BATCH, *options, "--cpu-kernels", "torch").report
    for ranks, threads in ((1, 1), (1, 2), (3, 1)):
        report = evaluate(model, data, *BATCH, *options, "--threads", threads, ranks=ranks).report
        if takes(options):
            assert "oneDNN Graph" in report["environment"]["model_form"]
        assert report["non_finite"] == plain["non_finite"]
    return plain["non_finite"]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("clamp", [nn.ReLU, nn.ReLU6])
@pytest.mark.parametrize("late", [np.nan, np.inf])
def test_in_one_input(late: float, clamp: type[nn.Module], precision: str, evaluate: Evaluate, tmp_path: Path) -> None:
    model, data = write_model(Net(clamp), tmp_path / "net.pt"), write_data(tmp_path / "set.h5", late)
    seen = found(evaluate, model, data, "--precision", precision)
    if np.isnan(late):
        assert seen == {"count": 1, "first_indices": [LATE]}


@pytest.mark.parametrize("clamp", [nn.ReLU, nn.ReLU6])
def test_in_a_weight(clamp: type[nn.Module], evaluate: Evaluate, tmp_path: Path) -> None:
    net = Net(clamp)
    with torch.no_grad():
        net.layers[5].weight[3, 2] = np.nan
    model, data = write_model(net, tmp_path / "net.pt"), write_data(tmp_path / "set.h5")
    assert found(evaluate, model, data)["count"] == SAMPLES


@pytest.mark.parametrize(("precision", "late"), [("fp32", 3e38), ("bf16", 3e38), ("fp16", 6e4)])
def test_by_overflow(precision: str, late: float, evaluate: Evaluate, tmp_path: Path) -> None:
    net = Net(nn.ReLU)
    with torch.no_grad():
        net.layers[0].weight.mul_(20)
    model, data = write_model(net, tmp_path / "net.pt"), write_data(tmp_path / "set.h5", late)
    assert found(evaluate, model, data, "--precision", precision) == {"count": 1, "first_indices": [LATE]}
