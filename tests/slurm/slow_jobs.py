# SPDX-License-Identifier: Apache-2.0
"""Jobs that take their time, so that tests can do something to them."""

import json
from collections.abc import Sequence
from pathlib import Path

import odd_models
import small
from cluster import JOBS, Cluster, wait_until

CPU = JOBS / "evaluate-cpu.sbatch"


def save_slow_model(seconds: float, path: Path) -> Path:
    """For the synthetic set. PyTorch takes that long for a batch of 8 on one core, Tally some two thirds of it."""
    model = odd_models.Slow(rounds=odd_models.rounds_that_take(seconds))
    return small.save_model(model, path, json.dumps(small.card()))


def evaluate(cluster: Cluster, model: Path, data: Path, folder: Path, *options: str, launcher: str = "",
             words: Sequence[object] = ()) -> str:  # fmt: skip
    return cluster.submit(
        "--nodes=2", "--ntasks-per-node=2", *options, CPU, "--model", model, "--data", data, "--batch-size", 8,
        "--output", folder / "results" / "run", *words, cwd=folder, LAUNCHER=launcher,
    )  # fmt: skip


def wait_for_loop(cluster: Cluster, job: str, folder: Path, start: int = 1) -> None:
    """Of the job's start of that number."""
    events = folder / "results" / "run" / "events.jsonl"

    def has_begun() -> bool:
        lines = events.read_text().splitlines(keepends=True) if events.exists() else []
        phases = [json.loads(line).get("name") for line in lines if line.endswith("\n")]
        if phases.count("evaluate") >= start:
            return True
        cluster.must_run_on(job)
        return False

    wait_until(has_begun, f"loop of start {start}")


def process_of(job: str, rank: int, program: Path) -> int:
    wanted = {f"SLURM_JOB_ID={job}", f"PMIX_RANK={rank}"}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted <= set((folder / "environ").read_text().split("\0")) and (folder / "exe").samefile(program):
                return int(folder.name)
        except OSError:
            continue  # it has ended
    raise AssertionError(f"no rank {rank} of job {job}")
