# SPDX-License-Identifier: Apache-2.0
"""Training and `tally watch` side by side, by the example's script: MNIST on two processes and two ranks."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import ROOT, Evaluate
from launch import Program, Run, finish

SCRIPT = ROOT / "jobs" / "examples" / "train_and_watch.sh"
LIMIT_S = 900
NUM_IMAGES = 20000  # of 60,000 for training: a third of an epoch's time
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def mnist(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first images for training, and all for testing."""
    source, folder = data_dir / "mnist", tmp_path_factory.mktemp("mnist")
    if not source.is_dir():
        pytest.skip(f"no data: {source} does not exist")
    for path in source.glob("t10k-*"):
        (folder / path.name).symlink_to(path)
    for kind, header_bytes, item_bytes in (("images-idx3", 16, 28 * 28), ("labels-idx1", 8, 1)):
        content = gzip.decompress((source / f"train-{kind}-ubyte.gz").read_bytes())
        count = NUM_IMAGES.to_bytes(4, "big")  # behind four bytes of type
        items = content[8 : header_bytes + NUM_IMAGES * item_bytes]
        (folder / f"train-{kind}-ubyte").write_bytes(content[:4] + count + items)
    return folder


@pytest.fixture
def start(tally: Program, mnist: Path, tmp_path: Path) -> Start:
    """Starts the script on tmp_path/run."""
    settings = {"MNIST": str(mnist), "TALLY_BIN": str(tally.binary), "TALLY_PYTHON": sys.executable}

    def run(**more: object) -> subprocess.Popen[str]:
        env = settings | {name: str(value) for name, value in more.items()}
        # A session of its own, so that a signal to its group is what Ctrl-C is in a terminal.
        return tally.start([str(SCRIPT), str(tmp_path / "run")], env=env, start_new_session=True)

    return run


def leaderboard(folder: Path) -> list[dict]:
    path = folder / "watch" / "leaderboard.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def check_best(folder: Path, run: Run) -> None:
    lines = leaderboard(folder)
    values = {line["name"]: line["metrics"]["accuracy"]["value"] for line in lines}
    best = (folder / "watch" / "best").resolve()
    assert best.parent == (folder / "checkpoints").resolve() and values[best.name] == max(values.values())
    assert f"best checkpoint: {best}" in run.stdout


def test_learns_and_stops_early(start: Start, evaluate: Evaluate, tmp_path: Path) -> None:
    run = finish(start(EPOCHS=30, PATIENCE=2), LIMIT_S).must_succeed()
    folder = tmp_path / "run"
    lines = leaderboard(folder)
    names = [f"epoch_{number:04}.pt" for number in range(1, len(lines) + 1)]
    assert len(lines) < 30 and [line["name"] for line in lines] == names
    # Training goes on while the last of them is evaluated.
    written = {path.name for path in (folder / "checkpoints").iterdir()}
    assert written >= {"done", *names} and len(written) < 31
    check_best(folder, run)
    assert max(line["metrics"]["accuracy"]["value"] for line in lines) >= 0.98

    stop = json.loads((folder / "watch" / "stop.json").read_text())
    assert stop["stop"] is True and f"stopped early:   {stop['reason']}" in run.stdout
    assert f"training should stop: {stop['reason']}" in run.stderr  # as the trainer logs it
    # Two checkpoints in a row were not above the interval of the last that was.
    reference, without_gain = lines[0]["metrics"]["accuracy"], 0
    for line in lines[1 : stop["evaluated"]]:
        found = line["metrics"]["accuracy"]
        reference, without_gain = (found, 0) if found["value"] > reference["high"] else (reference, without_gain + 1)
    assert without_gain == 2

    # The same digits as of an evaluation by hand.
    last = lines[-1]
    alone = evaluate(folder / "mnist.pt", folder / "mnist.h5", "--weights", last["path"])
    assert alone.digests[0] == last["state_digest"]
    assert "module.fc2.bias" in torch.load(last["path"], weights_only=True)["model"]


def test_ends_both_when_interrupted(start: Start, tmp_path: Path) -> None:
    process, deadline = start(EPOCHS=1000, PATIENCE=0), time.monotonic() + LIMIT_S
    while not leaderboard(tmp_path / "run"):
        assert process.poll() is None and time.monotonic() < deadline, "ended, or evaluated nothing"
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    run = finish(process)  # all that it started has ended, too: they hold its output open
    assert run.code == 130
    check_best(tmp_path / "run", run)
    assert not (tmp_path / "run" / "checkpoints" / "done").exists()
