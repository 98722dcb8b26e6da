# SPDX-License-Identifier: Apache-2.0
"""The batch scripts that users get, on several nodes and with every launcher: the digits of one process."""

import re
from pathlib import Path

import pytest
import small
from cluster import JOBS, TOOL, Cluster
from conftest import Case, digests_of
from launch import Program

CPU = JOBS / "evaluate-cpu.sbatch"


@pytest.mark.parametrize(
    ("nodes", "ranks_per_node", "launcher"),
    [(2, 2, ""), (3, 1, ""), (2, 2, "mpirun"), (3, 2, "srun --mpi=pmix")],
    ids=["2nodes", "3nodes", "2nodes-mpirun", "3nodes-srun"],
)
def test_evaluate_cpu(
    nodes: int, ranks_per_node: int, launcher: str, cluster: Cluster, digits: Case, tmp_path: Path
) -> None:
    job = cluster.batch(
        f"--nodes={nodes}", f"--ntasks-per-node={ranks_per_node}", CPU, *digits.options, "--output", tmp_path / "run",
        cwd=tmp_path, LAUNCHER=launcher,
    ).must_complete()  # fmt: skip
    report = small.report(tmp_path / "run")
    assert digests_of(tmp_path / "run") == digits.digests
    assert len(report["ranks"]) == nodes * ranks_per_node
    assert {rank["host"] for rank in report["ranks"]} == {f"node{index}" for index in range(1, nodes + 1)}
    assert (launcher or "srun --mpi=pmix") in job.output


def test_result_is_named_after_the_job(cluster: Cluster, tiny: Case, tmp_path: Path) -> None:
    job = cluster.submit("--nodes=1", "--ntasks-per-node=2", CPU, *tiny.options, cwd=tmp_path)
    cluster.wait(job)[0].must_complete()
    assert (tmp_path / f"tally-{job}" / "report.json").is_file()
    assert (tmp_path / f"tally-{job}.out").is_file()


def test_ranks_wait_for_each_other_as_they_start(cluster: Cluster, tmp_path: Path) -> None:
    """Slurm's default barrier lets ranks go too early: one MPI_Init of 507 crashed."""
    barriers = Path(__file__).parent / "barriers.py"
    job = cluster.batch(
        "--nodes=3", "--ntasks-per-node=2", CPU, "--x", cwd=tmp_path, TALLY_BIN=barriers, LAUNCHER="srun --mpi=pmix"
    ).must_complete()
    assert job.output.count(": 0 of 500 barriers") == 6


def test_mpirun_over_two_hosts_without_slurm(cluster: Cluster, digits: Case, tally: Program, tmp_path: Path) -> None:
    command = ["mpirun", "--host", "node1:2,node2:1", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", f"{TOOL} rsh",
               "-x", "OMPI_MCA_mpi_yield_when_idle"]  # fmt: skip
    ended = cluster.tool(
        "on", "node1", *command, tally.binary, "evaluate", *digits.options, "--output", tmp_path / "run"
    )
    assert ended.returncode == 0, ended.stderr
    assert digests_of(tmp_path / "run") == digits.digests
    assert [rank["host"] for rank in small.report(tmp_path / "run")["ranks"]] == ["node1", "node1", "node2"]


def test_a_launcher_that_does_not_fit(cluster: Cluster, tiny: Case, tmp_path: Path) -> None:
    job = cluster.batch(
        "--nodes=2", "--ntasks-per-node=1", CPU, *tiny.options, "--output", tmp_path / "run", cwd=tmp_path,
        LAUNCHER="srun --mpi=none",
    )  # fmt: skip
    assert (job.state, job.code) == ("FAILED", 1)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        ([], {}, "error[2] nothing to evaluate"),
        (["--model", "m.pt"], {"TALLY_BIN": "no-such-program"}, "error[5] there is no program 'no-such-program'"),
    ],
    ids=["no arguments", "no program"],
)
def test_refusals_of_the_script(
    words: list[str], variables: dict[str, str], expected: str, cluster: Cluster, tmp_path: Path
) -> None:
    job = cluster.batch("--ntasks-per-node=1", CPU, *words, cwd=tmp_path, **variables)
    job.must_fail(int(expected[6]), expected)


def test_each_script_says_that_it_runs_in_a_job(cluster: Cluster, tmp_path: Path) -> None:
    for name in ("evaluate-cpu", "evaluate-gpu", "evaluate-array"):
        ended = cluster.run("bash", JOBS / f"{name}.sbatch", "--model", "m.pt", cwd=tmp_path)
        assert ended.returncode == 2
        assert f"{name}: error[2]" in ended.stderr


def test_no_launcher_fits(cluster: Cluster, tmp_path: Path) -> None:
    """Slurm without PMIx and no mpirun, played by a PATH of chosen programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "printf", "true"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    (programs / "srun").write_text("#!/bin/bash\necho 'MPI plugin types are... none'\n")
    (programs / "srun").chmod(0o755)
    script = f"#!/bin/bash\nPATH={programs} TALLY_BIN=true exec bash {CPU} --model m.pt\n"
    (tmp_path / "script").write_text(script)
    cluster.batch("--ntasks-per-node=1", tmp_path / "script", cwd=tmp_path).must_fail(5, "Set LAUNCHER")


@pytest.mark.parametrize("script", sorted((JOBS / "machines").glob("*/*.sbatch")), ids=lambda path: path.stem)
def test_scripts_of_machines_start_tally(script: Path, cluster: Cluster, probe: Path, tmp_path: Path) -> None:
    """Their headers are for another cluster; what they do below is the same anywhere."""
    (tmp_path / "share" / "tally").mkdir(parents=True)
    (tmp_path / "share" / "tally" / "jobs").symlink_to(JOBS)
    profile = tmp_path / "profile"
    profile.write_text(f"export tally_prefix='{tmp_path}' LAUNCHER='srun --mpi=pmix'\n")
    resources = ["--nodes=2", "--ntasks-per-node=2", "--gres=gpu:2"]
    job = cluster.batch(
        *resources, "--wrap", f"bash {script} --model m.pt", cwd=tmp_path, tally_profile=profile, TALLY_BIN=probe
    ).must_complete()
    assert sorted(re.findall(r"^probe (\S+ \d) unset", job.output, re.M)) == ["node1 0", "node1 1", "node2 0", "node2 1"]
    absent = cluster.batch(
        *resources, "--wrap", f"bash {script} --model m.pt", cwd=tmp_path, tally_profile=tmp_path / "absent"
    )
    absent.must_fail(5, "absent")
