# SPDX-License-Identifier: Apache-2.0
"""GPUs that Slurm only pretends to have (two on each node): what the scripts ask for and what ranks see.

Which GPU a rank takes is Tally's own choice and tested with it.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from cluster import JOBS, Cluster

GPU = JOBS / "evaluate-gpu.sbatch"


def seen(output: str) -> dict[tuple[str, int], str]:
    """(node, local rank) -> CUDA_VISIBLE_DEVICES"""
    return {
        (node, int(local)): devices for node, local, devices in re.findall(r"^probe (\S+) (\d+) (\S+)", output, re.M)
    }


@pytest.mark.parametrize(("launcher", "devices"), [("", "unset"), ("mpirun", "0,1")], ids=["srun", "mpirun"])
def test_every_rank_sees_all_gpus_of_its_node(
    launcher: str, devices: str, cluster: Cluster, probe: Path, tmp_path: Path
) -> None:
    job = cluster.batch(
        "--nodes=2", "--ntasks-per-node=2", "--gpus-per-node=2", "--cpus-per-task=1", GPU, "--model", "m.pt",
        cwd=tmp_path, TALLY_BIN=probe, LAUNCHER=launcher,
    ).must_complete()  # fmt: skip
    assert seen(job.output) == {(f"node{node}", local): devices for node in (1, 2) for local in (0, 1)}
    assert job.output.count("evaluate --device cuda --model m.pt") == 5  # the script's own line and each rank's


def test_a_binding_of_the_site_reaches_the_ranks(cluster: Cluster, probe: Path, tmp_path: Path) -> None:
    """Without --gpu-bind=none a rank sees the GPU that Slurm chose for it: the probe does tell the two apart."""
    job = cluster.batch(
        "--nodes=1", "--ntasks-per-node=2", "--gpus-per-node=2", "--cpus-per-task=1", GPU, "--model", "m.pt",
        cwd=tmp_path, TALLY_BIN=probe, LAUNCHER="srun --mpi=pmix --gpu-bind=single:1",
    ).must_complete()  # fmt: skip
    assert sorted(seen(job.output).values()) == ["0", "1"]


def test_more_gpus_than_exist_are_refused(cluster: Cluster, tmp_path: Path) -> None:
    ended = cluster.run(
        "sbatch", "--nodes=1", "--ntasks-per-node=3", "--gpus-per-node=3", "--cpus-per-task=1", GPU, cwd=tmp_path
    )
    assert ended.returncode == 1
    assert "Requested node configuration is not available" in ended.stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--ntasks-per-node=2", "--gpus-per-node=1"], "2 ranks for 1 GPUs on a node"),
        (["--ntasks-per-node=1", "--gpus-per-node=0"], "the job has no GPUs"),
    ],
)
def test_uneven_requests_are_refused(options: list[str], expected: str, cluster: Cluster, tmp_path: Path) -> None:
    job = cluster.batch("--nodes=1", "--cpus-per-task=1", *options, GPU, "--model", "m.pt", cwd=tmp_path)
    job.must_fail(2, expected)


def test_gpus_of_a_type_are_counted(probe: Path) -> None:
    """This cluster's GPUs have no type, so the script is told what a job would tell it."""
    variables = {"SLURM_JOB_ID": "1", "SLURM_GPUS_PER_NODE": "a100:4", "SLURM_NTASKS_PER_NODE": "1"}
    ended = subprocess.run(
        ["bash", GPU, "--model", "m.pt"], env=os.environ | variables, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "1 ranks for 4 GPUs on a node" in ended.stderr


def test_cpus_of_a_rank_reach_it(cluster: Cluster, probe: Path, tmp_path: Path) -> None:
    job = cluster.batch(
        "--nodes=1", "--ntasks-per-node=2", "--cpus-per-task=2", JOBS / "evaluate-cpu.sbatch", "--model", "m.pt",
        cwd=tmp_path, TALLY_BIN=probe,
    ).must_complete()  # fmt: skip
    assert re.findall(r"^probe \S+ \d+ unset (\S+)", job.output, re.M) == ["2", "2"]
