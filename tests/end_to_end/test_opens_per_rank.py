# SPDX-License-Identifier: Apache-2.0
"""How often a job of many ranks opens files of the user: a parallel file system's servers answer every open."""

import collections
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import small
import torch
from conftest import Small
from launch import Program

STRACE = shutil.which("strace")
# Some processors have openat() alone.
OPTIONS = ("-f", "-qq", "--seccomp-bpf", "-e", "trace=?open,openat,?openat2,?creat")
works = STRACE and subprocess.run([STRACE, *OPTIONS, "-o", os.devnull, "true"], capture_output=True).returncode == 0
pytestmark = pytest.mark.skipif(not works, reason="strace is not installed, or may not trace processes here")

# What another thread interrupts has its result on a later line.
OPENED = re.compile(r'\b(?:open|openat|openat2|creat)\([^"\n]*"((?:[^"\\\n]|\\.)*)".* (?:= \d+|<unfinished)')
# A variable of the launcher's names the trace of each rank.
TRACED = 'exec "$0" -o "$1.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" "${@:2}"'
MOST_OF_RANK_0 = 5


def opens_of(trace: Path, folder: Path) -> dict[str, int]:
    """How often the files below `folder` were opened, by their names."""
    found = map(Path, OPENED.findall(trace.read_text(errors="replace")))
    return dict(collections.Counter(path.name for path in found if path.is_relative_to(folder)))


@pytest.mark.parametrize(("data", "ranks"), [("val.h5", 1), ("val.h5", 5), ("val.h5", 64), ("val.shards.json", 3)])
def test_ranks_open_the_data_set_once_and_nothing_else(data: str, ranks: int, small_case: Small, tally: Program,
                                                       tmp_path: Path) -> None:  # fmt: skip
    files = tmp_path / "files"
    files.mkdir()
    if data == "val.h5":
        small_case.samples.write(files / data)
    else:
        small_case.samples.write_shards(files / data, 4)
    data_files = {path.name for path in files.iterdir()}
    shutil.copy(small_case.model, files / "model.pt")
    torch.save(small.TinyNet(seed=2).state_dict(), files / "weights.pth")
    (files / "run.cfg").write_text("batch-size = 4\n")
    arguments = ["evaluate", "--model", files / "model.pt", "--weights", files / "weights.pth", "--data", files / data,
                 "--config", files / "run.cfg", "--output", files / "result"]  # fmt: skip
    program = ["bash", "-c", TRACED, STRACE, tmp_path / "opens", *OPTIONS, *tally.command(*arguments)]
    tally.run_command([tally.launcher, "-n", str(ranks), *map(str, program)], limit_s=180).must_succeed()
    by_rank = [opens_of(tmp_path / f"opens.{rank}", files) for rank in range(ranks)]
    assert set(by_rank[0]) >= {"model.pt", "weights.pth", "run.cfg", *data_files}
    # It looks whether the file is HDF5's, and examines it in a process of its own first.
    assert max(by_rank[0][name] for name in data_files) <= MOST_OF_RANK_0, by_rank[0]
    for rank, opens in enumerate(by_rank[1:], start=1):
        assert opens == dict.fromkeys(data_files, 1), f"rank {rank}"
