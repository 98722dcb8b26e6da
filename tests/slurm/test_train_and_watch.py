"""The examples of a training and its watch as jobs: torchrun on two nodes, and what the watch is started with."""

import os
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


def test_two_nodes(cluster: Cluster, mnist: Path, tmp_path: Path) -> None:
    options = ["--output", tmp_path / "checkpoints", "--epochs", 1, "--limit-train", 96, "--batch-size", 16]
    job = cluster.batch(
        "--nodes=2", "--cpus-per-task=1", TRAIN, TRAINER, "--data", mnist, *options, "--device", "cpu",
        cwd=tmp_path, TALLY_PYTHON=sys.executable, PROCESSES=1,
    )  # fmt: skip
    assert "epoch 1, step 3: " in job.must_complete().output  # 48 images for each of two processes
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["done", "epoch_0001.pt"]


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
