# SPDX-License-Identifier: Apache-2.0
"""What of the environment a run says and keeps: code that it loads, and nothing of what may be secret."""

import os
import stat
from pathlib import Path

import pytest
import small
from conftest import Evaluate, Small
from launch import Program

SECRET = "a-secret-of-the-user"


def test_code_of_the_environment_is_named_and_recorded(evaluate: Evaluate, small_case: Small) -> None:
    plain = evaluate(small_case.model, small_case.data, ranks=2)
    preloaded = evaluate(small_case.model, small_case.data, ranks=2, env={"LD_PRELOAD": "libm.so.6"})
    assert "LD_PRELOAD" not in plain.run.stderr + str(plain.report)
    (line,) = [line for line in preloaded.run.stderr.splitlines() if "LD_PRELOAD" in line]
    assert line.startswith("tally: note: ")
    assert any("LD_PRELOAD" in note for note in preloaded.report["notes"])
    assert preloaded.report["environment"]["LD_PRELOAD"] == "libm.so.6"
    assert preloaded.report["digests"] == plain.report["digests"]


@pytest.mark.parametrize("ranks", [None, 2])
def test_secrets_reach_no_output(ranks: int | None, tally: Program, small_case: Small, tmp_path: Path) -> None:
    env = {"WANDB_API_KEY": SECRET, "NCCL_SOCKET_MAGIC": SECRET, "OMPI_MCA_orte_precondition_transports": SECRET}
    run = tally("evaluate", "--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run",
                "--trace", tmp_path / "run.trace", ranks=ranks, env=env if ranks is None else env | {"HF_TOKEN": SECRET})  # fmt: skip
    assert run.code == 0
    assert SECRET not in run.stdout + run.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"report.json", "predictions.h5", "metrics.h5", "events.jsonl", "run.trace"} <= {path.name for path in files}
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert small.report(tmp_path / "run")["environment"]["world_size"] == str(ranks or 1)
    assert [path for path in tmp_path.rglob("*") if path.stat().st_mode & (stat.S_IWGRP | stat.S_IRWXO)] == []


@pytest.mark.skipif(not os.environ.get("TALLY_TEST_FAULTS"), reason="no library can be loaded before sanitizers")
@pytest.mark.parametrize("ranks", [None, 2])
def test_mpi_that_does_not_start(ranks: int | None, tally: Program, small_case: Small, tmp_path: Path) -> None:
    """Of two ranks, on the second alone."""
    struck = {"FAULT_POINTS_RANK": "1"} if ranks else {}
    faults = {"FAULT_POINTS": f"{tmp_path}|1|1|0", "FAULT_POINTS_KIND": "mpi", "LD_PRELOAD": os.environ["TALLY_TEST_FAULTS"]}
    run = tally("evaluate", "--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run",
                ranks=ranks, env=faults | struck)  # fmt: skip
    run.must_fail(5, "MPI_Init_thread failed")
