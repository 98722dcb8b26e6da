# SPDX-License-Identifier: Apache-2.0
"""The examples of a training and its watch as a pair of jobs: torchrun on two nodes, the watch on a third."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cluster import JOBS, Cluster

from conftest import ROOT

TRAIN = JOBS / "examples" / "train.sbatch"
WATCH = JOBS / "examples" / "watch.sbatch"
TRAINER = JOBS / "examples" / "train_mnist_ddp.py"


@pytest.fixture(scope="session")
def mnist() -> Path:
    folder = Path(os.environ.get("TALLY_DATA_DIR") or ROOT.parent / "shared" / "data-candidates") / "mnist"
    if not folder.is_dir():
        pytest.skip(f"no data: {folder} does not exist (TALLY_DATA_DIR names the folder above)")
    return folder


def tool(name: str, *words: object) -> None:
    command = [sys.executable, ROOT / "data_tools" / name, *words]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


def test_pair_of_jobs(cluster: Cluster, mnist: Path, tmp_path: Path) -> None:
    model, data, checkpoints = tmp_path / "mnist.pt", tmp_path / "mnist.h5", tmp_path / "checkpoints"
    tool("export_model.py", "--model", f"{TRAINER}:mnist_convnet", "--input-shape", "1,28,28", "--output", model)
    tool("prepare_mnist.py", "--input", mnist, "--split", "test", "--output", data)
    checkpoints.mkdir()
    words = ["--checkpoints", checkpoints, "--model", model, "--data", data, "--output", tmp_path / "watch"]
    watch = cluster.submit("--ntasks-per-node=2", WATCH, *words, "--limit", 300, "--poll", 0.5, cwd=tmp_path)
    options = ["--output", checkpoints, "--epochs", 2, "--limit-train", 96, "--batch-size", 16]
    training = cluster.batch(
        "--nodes=2", "--cpus-per-task=1", TRAIN, TRAINER, "--data", mnist, *options, "--device", "cpu",
        "--stop-folder", tmp_path / "watch", cwd=tmp_path, TALLY_PYTHON=sys.executable, PROCESSES=1,
    )  # fmt: skip
    assert "epoch 1, step 3: " in training.must_complete().output  # 48 images for each of two processes
    assert sorted(path.name for path in checkpoints.iterdir()) == ["done", "epoch_0001.pt", "epoch_0002.pt"]
    (watched,) = cluster.wait(watch)
    assert "2 checkpoints evaluated, 0 passed over" in watched.must_complete().output
    lines = [json.loads(line) for line in (tmp_path / "watch" / "leaderboard.jsonl").read_text().splitlines()]
    assert [(line["step"], line["status"], line["samples"]) for line in lines] == [
        (1, "evaluated", 300), (2, "evaluated", 300),
    ]  # fmt: skip


def test_faults(cluster: Cluster, tmp_path: Path) -> None:
    cluster.batch("--cpus-per-task=1", TRAIN, cwd=tmp_path).must_fail(2, "train: error[2] nothing to train")
    cluster.batch("--cpus-per-task=1", TRAIN, "x.py", cwd=tmp_path).must_fail(2, "cannot read the script 'x.py'")


@pytest.mark.parametrize(("device", "gpus"), [("cpu", []), ("cuda", ["--gpus-per-node=2"])])
def test_watch_on_a_device(cluster: Cluster, tmp_path: Path, device: str, gpus: list[str]) -> None:
    words = ["--ntasks-per-node=2", *gpus, WATCH, "--checkpoints", "c"]
    job = cluster.batch(*words, cwd=tmp_path, TALLY_BIN="/bin/echo", LAUNCHER="srun", DEVICE=device)
    lines = job.must_complete().output.splitlines()
    assert lines.count(f"watch --device {device} --checkpoints c") == 2


def test_watch_faults(cluster: Cluster, tmp_path: Path) -> None:
    cluster.batch(WATCH, cwd=tmp_path).must_fail(2, "watch: error[2] nothing to watch")
    cluster.batch(WATCH, "--checkpoints", "c", cwd=tmp_path, DEVICE="cuda").must_fail(2, "the job has no GPUs")
    cluster.batch(
        "--gpus-per-node=1", "--ntasks-per-node=2", WATCH, "--checkpoints", "c", cwd=tmp_path, DEVICE="cuda"
    ).must_fail(2, "2 ranks for 1 GPUs")
