# SPDX-License-Identifier: Apache-2.0
"""How jobs end that do not succeed: the code is in the job's state, and no half-written result stays."""

import json
import os
import shlex
import signal
from pathlib import Path

import pytest
from cluster import Cluster
from conftest import Case
from corrupt import flip_byte
from launch import Program
from slow_jobs import CPU, evaluate, process_of, wait_for_loop

LAUNCHERS = pytest.mark.parametrize("launcher", ["", "mpirun"], ids=["srun", "mpirun"])


def error_files_alone(results: Path) -> list[int]:
    """Their codes, where there is nothing else."""
    assert all(path.name.endswith(".error.json") for path in results.iterdir())
    return [json.loads(path.read_text())["code"] for path in results.iterdir()]


@LAUNCHERS
def test_a_bad_data_set_gives_its_code(launcher: str, cluster: Cluster, tiny: Case, tmp_path: Path) -> None:
    bad = tmp_path / "bad.h5"
    bad.write_bytes(tiny.data.read_bytes()[:-100])
    (job,) = cluster.wait(evaluate(cluster, tiny.model, bad, tmp_path, launcher=launcher))
    job.must_fail(3, "tally: error[3]", "bad.h5")
    assert error_files_alone(tmp_path / "results") == [3]


@LAUNCHERS
def test_a_failure_in_the_loop_gives_its_code(launcher: str, cluster: Cluster, tiny: Case, tmp_path: Path) -> None:
    bad = tmp_path / "bad.h5"
    bad.write_bytes(tiny.data.read_bytes())
    flip_byte(bad, "/inputs/image", 5000)
    (job,) = cluster.wait(evaluate(cluster, tiny.model, bad, tmp_path, launcher=launcher))
    job.must_fail(3, "tally: error[3]", "bad.h5")
    assert error_files_alone(tmp_path / "results") == [3]


def test_no_line_of_a_failure_in_the_loop_is_lost(cluster: Cluster, tally: Program, tiny: Case, tmp_path: Path) -> None:
    """Where a step is aborted srun leaves what it has not yet read; a rank gives it the time for that."""
    bad, num_starts = tmp_path / "bad.h5", 10
    bad.write_bytes(tiny.data.read_bytes())
    flip_byte(bad, "/inputs/image", 0)
    words = ["--model", tiny.model, "--data", bad, "--batch-size", 8, "--progress", "off", "--output", tmp_path / "run"]
    step = shlex.join(map(str, ["srun", "--mpi=pmix", "--kill-on-bad-exit=0", tally.binary, "evaluate", *words]))
    loop = f"export SLURM_PMIX_FENCE=ring; for i in $(seq {num_starts}); do {step}; done; exit 0"
    job = cluster.batch("--nodes=2", "--ntasks-per-node=1", "--wrap", loop, cwd=tmp_path, limit_s=20 * num_starts)
    assert job.must_complete().output.count("tally: error[3] rank 0 on ") == num_starts, job.output


def test_ranks_that_end_one_after_the_other_keep_their_code(cluster: Cluster, tmp_path: Path) -> None:
    """Where the site lets Slurm kill a step at its first failure, as here, the code would become 143."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n[ $SLURM_PROCID = 0 ] || sleep 0.5 # it takes its time to end\nexit 3\n")
    program.chmod(0o755)
    job = cluster.batch("--nodes=2", "--ntasks-per-node=2", CPU, "--x", cwd=tmp_path, TALLY_BIN=program)
    job.must_fail(3)


def test_a_lost_rank_that_the_others_do_not_notice_ends_the_job(cluster: Cluster, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n[ $SLURM_PROCID != 1 ] || kill -KILL $$\nexec sleep 300\n")
    program.chmod(0o755)
    job = cluster.submit("--nodes=2", "--ntasks-per-node=2", CPU, "--x", cwd=tmp_path, TALLY_BIN=program)
    cluster.wait(job, limit_s=30)[0].must_fail(137)


def test_a_lost_rank_ends_the_job(
    cluster: Cluster, tally: Program, tiny: Case, slow_model: Path, tmp_path: Path
) -> None:
    number = evaluate(cluster, slow_model, tiny.data, tmp_path)
    wait_for_loop(cluster, number, tmp_path)
    os.kill(process_of(number, 1, tally.binary), signal.SIGKILL)
    (job,) = cluster.wait(number, limit_s=15)
    assert (job.state, job.code) == ("FAILED", 137)
    assert not (tmp_path / "results" / "run" / "report.json").exists()


@LAUNCHERS
def test_a_cancelled_run_is_not_requeued(
    launcher: str, cluster: Cluster, tiny: Case, slow_model: Path, tmp_path: Path
) -> None:
    number = evaluate(cluster, slow_model, tiny.data, tmp_path, launcher=launcher)
    wait_for_loop(cluster, number, tmp_path)
    cluster.must("scancel", number)
    (job,) = cluster.wait(number)
    assert job.state == "CANCELLED"
    assert "is requeued" not in job.output
    run = tmp_path / "results" / "run"
    assert not (run / "report.json").exists()
    assert not run.exists() or (run / "progress").exists()
