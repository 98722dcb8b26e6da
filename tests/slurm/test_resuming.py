# SPDX-License-Identifier: Apache-2.0
"""Jobs that run out of time go on from where they were, to the bytes of one that did not."""

import json
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

import odd_models
import pytest
import small
from cluster import Cluster, wait_until
from conftest import digests_of
from launch import Program
from slow_jobs import CPU, evaluate, process_of, wait_for_loop

LAUNCHERS = ["", "mpirun"]
IDS = ["srun", "mpirun"]


@dataclass(frozen=True)
class Long:
    """More batches than four ranks get through in starts that are stopped, and the result of one process."""

    data: Path
    alone: Path


@pytest.fixture(scope="module")
def long(tally: Program, slow_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Long:
    folder = tmp_path_factory.mktemp("long")
    data = small.make_set(num_samples=400).write(folder / "long.h5")
    options = ["--model", slow_model, "--data", data, "--batch-size", 8, "--output", folder / "alone"]
    tally("evaluate", *options, limit_s=120).must_succeed()
    return Long(data, folder / "alone")


@dataclass(frozen=True)
class Limited:
    """A job that is going to reach its time limit."""

    job: str
    folder: Path

    def output(self) -> str:
        return (self.folder / f"tally-{self.job}.out").read_text()


@pytest.fixture(scope="module", autouse=True)
def limited(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> list[Limited]:
    """The shortest limit is a minute, so they run beside the other tests of this file. Their ranks get no warning."""
    jobs = []
    folder = tmp_path_factory.mktemp("limited")
    model = small.save_model(odd_models.Slow(rounds=1_500), folder / "model.pt", json.dumps(small.card()))
    data = small.make_set(num_samples=100_000).write(folder / "long.h5")
    for launcher, name in zip(LAUNCHERS, IDS, strict=True):
        folder = tmp_path_factory.mktemp(f"limited-{name}")
        options = ["--nodes=1", "--ntasks-per-node=1", "--time=1", "--signal=B:CONT@10"]
        job = evaluate(
            cluster, model, data, folder, *options, launcher=launcher, words=["--checkpoint-every", 5]
        )
        jobs.append(Limited(job, folder))
        wait_for_loop(cluster, jobs[-1].job, folder)
    return jobs


def test_three_warnings_and_a_lost_rank(
    cluster: Cluster, tally: Program, slow_model: Path, long: Long, tmp_path: Path
) -> None:
    options = ["--checkpoint-every", "0.2"]
    number = evaluate(cluster, slow_model, long.data, tmp_path, words=options)
    run = tmp_path / "results" / "run"
    for start in range(1, 4):
        wait_for_loop(cluster, number, tmp_path, start)
        cluster.must("scancel", "--batch", "--signal=USR1", number)
    wait_for_loop(cluster, number, tmp_path, 4)
    os.kill(process_of(number, 1, tally.binary), signal.SIGKILL)
    (job,) = cluster.wait(number)
    job.must_fail(137)
    assert job.output.count(f"job {number} is requeued to go on") == 3
    assert (run / "progress").exists()

    (again,) = cluster.wait(evaluate(cluster, slow_model, long.data, tmp_path, words=options))
    assert "--resume goes on behind" in again.must_complete().output
    assert not (run / "progress").exists()
    assert (run / "predictions.h5").read_bytes() == (long.alone / "predictions.h5").read_bytes()
    assert digests_of(run) == digests_of(long.alone)


@pytest.mark.parametrize("index", [0, 1], ids=IDS)
def test_a_time_limit(index: int, limited: list[Limited], cluster: Cluster) -> None:
    """The job is requeued, goes on, and is cancelled then, which is no time limit."""
    case = limited[index]
    wait_until(lambda: "--resume goes on behind" in case.output(), f"second start of job {case.job}", limit_s=180)
    cluster.must("scancel", case.job)
    (job,) = cluster.wait(case.job)
    assert job.state == "CANCELLED"
    limits = re.findall(r"JOB \d+ ON \S+ CANCELLED AT \S+ DUE TO TIME LIMIT", job.output)
    assert job.output.count("is requeued to go on") == len(limits) >= 1
    run = case.folder / "results" / "run"
    assert (run / "progress").exists()
    assert not (run / "report.json").exists()


def test_a_job_that_gets_nowhere_is_not_requeued(cluster: Cluster, tmp_path: Path) -> None:
    """Its progress is that of an earlier job, to which it adds nothing."""
    (tmp_path / "run" / "progress").mkdir(parents=True)
    (tmp_path / "run" / "progress" / "attempt-1.rank-0.a.state").touch()
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nkill -USR1 $(cat batch.pid)\nexec sleep 300\n")
    program.chmod(0o755)
    script = tmp_path / "script"
    script.write_text(f"#!/bin/bash\n#SBATCH --open-mode=append\necho $$ >batch.pid\nexec bash {CPU} --output run\n")
    job = cluster.batch("--nodes=1", "--ntasks-per-node=1", script, cwd=tmp_path, TALLY_BIN=program, LAUNCHER="srun")
    job.must_fail(75, "is not requeued. Give it more time.")
