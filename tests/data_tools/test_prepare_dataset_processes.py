# SPDX-License-Identifier: Apache-2.0
"""prepare_dataset with processes that end, or fail, before their time; and a whole evaluation of what it wrote."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader

from conftest import NEEDS_PROGRAM, TOOLS, Tool

NAME = "prepare_dataset"
CODE = Path(__file__).with_name("own_datasets.py")
PLAIN = CODE.with_name("plain_datasets.py")
IMAGES = ("--dataset", f"{PLAIN}:pillow", "--mean", 0.5, "--std", 0.5)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_that_is_killed_is_gone_on_with(workers: int, tmp_path: Path, succeed: Tool) -> None:
    options = [*IMAGES, "--part-rows", 5, "--workers", workers, "--output", tmp_path / "a.h5"]
    command = list(map(str, [sys.executable, TOOLS / "prepare_dataset.py", *options]))
    environment = {**os.environ, "KILL_AT": "17"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == (-9 if workers == 1 else 5), done.stderr
    assert workers == 1 or "a worker process was ended from outside" in done.stderr
    succeed(NAME, *options)
    succeed(NAME, *IMAGES, "--output", tmp_path / "b.h5", "--workers", 1)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.h5", "b.h5"]


def test_faults_of_a_worker(fail: Tool) -> None:
    fail(NAME, "--dataset", f"{PLAIN}:far_label", "--workers", 2, code=3, says="/targets/label[17] = 4, expected 0..3")


def test_torch_datasets_in_processes(tmp_path: Path, succeed: Tool) -> None:
    for workers in (1, 2):
        options = ["--dataset", f"{CODE}:normalised", "--workers", workers, "--part-rows", 9]
        succeed(NAME, *options, "--output", tmp_path / f"{workers}.h5")
    assert (tmp_path / "1.h5").read_bytes() == (tmp_path / "2.h5").read_bytes()


def test_a_folder_of_images_is_prepared_as_by_its_own_tool(tmp_path: Path, succeed: Tool) -> None:
    for index in range(6):
        path = tmp_path / "val" / "ab"[index % 2] / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(index).integers(0, 256, (300, 260 + index, 3), np.uint8)).save(path)
    code = f"from torchvision.datasets import ImageFolder\ndef make():\n    return ImageFolder({str(tmp_path / 'val')!r})\n"
    (tmp_path / "folder.py").write_text(code)
    like = ["--like", "resnet18", "--workers", 1]
    succeed(NAME, "--dataset", f"{tmp_path / 'folder.py'}:make", "--output", tmp_path / "a.h5", *like)
    succeed("prepare_imagefolder", "--input", tmp_path / "val", "--output", tmp_path / "b.h5", *like)
    with h5py.File(tmp_path / "a.h5") as file, h5py.File(tmp_path / "b.h5") as other:
        found, expected = file["inputs/image"], other["inputs/image"]
        assert np.array_equal(found, expected) and found.shape == (6, 224, 224, 3)
        attributes = [{name: str(value) for name, value in one.attrs.items()} for one in (found, expected)]
        assert attributes[0] == attributes[1]
        assert np.array_equal(file["targets/label"], other["targets/label"])
        assert np.array_equal(file["class_names"], other["class_names"])


def test_two_runs_at_a_time_are_refused(tmp_path: Path, tool: Tool) -> None:
    options = [*IMAGES, "--part-rows", 5, "--workers", 1, "--output", tmp_path / "a.h5"]
    command = list(map(str, [sys.executable, TOOLS / "prepare_dataset.py", *options]))
    environment = {**os.environ, "HOLD_AT": "7", "HOLD_FILE": str(tmp_path / "hold")}
    os.mkfifo(tmp_path / "hold")
    first = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        with (tmp_path / "hold").open("w"):  # opens as soon as the other process waits there
            done = tool(NAME, *options)
    finally:
        assert first.wait(timeout=120) == 0
    assert done.returncode == 6 and "another process is making" in done.stderr


@NEEDS_PROGRAM
def test_digits_are_evaluated_as_torch_does(tmp_path: Path, succeed: Tool) -> None:
    """As images and as tensors: cross entropy and accuracy are those over the dataset itself."""
    recipe = ["--channels", "L", "--scale", "1/16", "--mean", 0, "--std", 1]
    succeed(NAME, "--dataset", f"{CODE}:digit_images", "--output", tmp_path / "images.h5", "--workers", 1, *recipe)
    succeed(NAME, "--dataset", f"{CODE}:digit_tensors", "--output", tmp_path / "tensors.h5", "--workers", 1)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10)).eval()
    torch.jit.script(network).save(str(tmp_path / "net.pt"))
    dataset = importlib.import_module("own_datasets").digit_tensors()
    images, labels = next(iter(DataLoader(dataset, batch_size=len(dataset))))
    with torch.no_grad():
        logits = network(images)
    expected = {
        "accuracy": (logits.argmax(1) == labels).double().mean().item(),
        "loss": nn.functional.cross_entropy(logits.double(), labels).item(),
    }
    for name in ("images", "tensors"):
        command = [os.environ["TALLY_BIN"], "evaluate", "--model", tmp_path / "net.pt", "--data", tmp_path / f"{name}.h5"]
        done = subprocess.run(
            [*map(str, command), "--output", str(tmp_path / name)], capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stderr
        metrics = json.loads((tmp_path / name / "report.json").read_text())["metrics"]
        assert {key: metrics[key]["value"] for key in expected} == pytest.approx(expected, rel=1e-7)
