# SPDX-License-Identifier: Apache-2.0
"""Many more ranks than cores: while they wait for Slurm's processes, they do not keep those from the cores."""

from pathlib import Path

import small
from cluster import JOBS, Cluster
from conftest import Case, digests_of, start_or_skip


def test_64_ranks_on_16_nodes(new_cluster: Cluster, digits: Case, tmp_path: Path) -> None:
    start_or_skip(new_cluster, SLURM_ONE_NODES=16, SLURM_ONE_SILENCE_S=120)
    new_cluster.batch(
        "--nodes=16", "--ntasks-per-node=4", JOBS / "evaluate-cpu.sbatch", *digits.options, "--output", tmp_path / "run",
        cwd=tmp_path, limit_s=300,
    ).must_complete()  # fmt: skip
    report = small.report(tmp_path / "run")
    assert len(report["ranks"]) == 64
    assert digests_of(tmp_path / "run") == digits.digests
    # Loading LibTorch 64 times takes several times as long as the start, and the start 90 s and more where ranks do not
    # wait coarsely in MPI_Init.
    phases = report["timing"]["phases"]
    assert phases["launch_s"]["max"] < 2 * phases["load_model_s"]["max"], phases
