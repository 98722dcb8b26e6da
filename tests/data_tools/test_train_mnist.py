# SPDX-License-Identifier: Apache-2.0
"""jobs/examples/train_mnist_ddp.py, on two processes: its checkpoints, and that it stops when it is told to."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from conftest import NEEDS_PROGRAM, ROOT, Tool

TRAINER = ROOT / "jobs" / "examples" / "train_mnist_ddp.py"
NUM_IMAGES, BATCH_SIZE = 250, 50  # of two processes: three steps in an epoch, the last of half a batch


def train(data: Path, output: Path, *options: object) -> str:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", TRAINER]
    numbers = ["--limit-train", NUM_IMAGES, "--batch-size", BATCH_SIZE, "--device", "cpu"]
    ended = subprocess.run(
        [str(word) for word in [*command, "--data", data / "mnist", "--output", output, *numbers, *options]],
        capture_output=True, text=True, check=False, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def load(path: Path) -> dict:
    return torch.load(path, weights_only=True)


@pytest.fixture(scope="session")
def trained(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "checkpoints"
    train(data_folder, folder, "--epochs", 2)
    return folder


def test_layout(trained: Path) -> None:
    assert files(trained) == ["done", "epoch_0001.pt", "epoch_0002.pt"]
    first, second = load(trained / "epoch_0001.pt"), load(trained / "epoch_0002.pt")
    assert first.keys() == {"model", "optimizer", "scaler", "epoch", "step"}
    assert [(one["epoch"], one["step"]) for one in (first, second)] == [(1, 3), (2, 6)]
    layers = ("conv1", "conv2", "fc1", "fc2")
    assert set(first["model"]) == {f"module.{name}.{part}" for name in layers for part in ("weight", "bias")}
    assert len(first["optimizer"]["state"]) == len(first["model"])
    assert not torch.equal(first["model"]["module.fc2.bias"], second["model"]["module.fc2.bias"])


@NEEDS_PROGRAM
def test_a_checkpoint_exports(trained: Path, succeed: Tool, tmp_path: Path) -> None:
    model, checkpoint = tmp_path / "model.pt", trained / "epoch_0002.pt"
    source = ["--model", f"{TRAINER}:mnist_convnet", "--input-shape", "1,28,28"]
    succeed("export_model", *source, "--weights", checkpoint, "--output", model)
    exported = torch.jit.load(model).state_dict()
    for name, value in load(checkpoint)["model"].items():
        assert torch.equal(exported[name.removeprefix("module.")], value)


def test_stops_when_told_to(data_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "stop.json").write_text(json.dumps({"stop": True, "reason": "no gain"}))
    said = train(data_folder, tmp_path / "checkpoints", "--epochs", 50, "--stop-folder", tmp_path, "--amp")
    assert "training should stop: no gain" in said
    assert files(tmp_path / "checkpoints") == ["done", "epoch_0001.pt"]


def test_checkpoints_between_epochs(data_folder: Path, trained: Path, tmp_path: Path) -> None:
    train(data_folder, tmp_path, "--epochs", 2, "--every", 2)
    assert files(tmp_path) == ["done", "step_000002.pt", "step_000004.pt", "step_000006.pt"]
    found, wanted = load(tmp_path / "step_000006.pt"), load(trained / "epoch_0002.pt")
    assert found["epoch"] == 2
    for name, value in wanted["model"].items():  # of the same seed
        assert torch.equal(found["model"][name], value)


def test_without_torchrun() -> None:
    words = [sys.executable, str(TRAINER), "--data", "x", "--output", "y"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 2 and "start it with torchrun" in ended.stderr
