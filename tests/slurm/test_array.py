# SPDX-License-Identifier: Apache-2.0
"""A job array over several models and the job that makes one table of their reports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import small
from cluster import JOBS, Cluster
from conftest import Case
from launch import Program

ARRAY = JOBS / "evaluate-array.sbatch"
CPU = JOBS / "evaluate-cpu.sbatch"
COLLECT = JOBS / "collect-reports.py"
NUM_GOOD = 3


@pytest.fixture
def models(tmp_path: Path) -> list[Path]:
    """Three networks, and a file that is none."""
    good = [
        small.save_model(small.TinyNet(seed=seed), tmp_path / f"epoch {seed}.pt", json.dumps(small.card()))
        for seed in range(1, NUM_GOOD + 1)
    ]
    broken = tmp_path / "broken.pt"
    broken.write_text("no model")
    return [*good, broken]


def collect(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, COLLECT, *map(str, words)], capture_output=True, text=True)


def test_array_and_table(cluster: Cluster, tally: Program, tiny: Case, models: list[Path], tmp_path: Path) -> None:
    results = tmp_path / "results"
    array = cluster.submit(
        f"--array=0-{len(models) - 1}%2", "--ntasks-per-node=2", ARRAY, CPU, results, *models, "--", "--data",
        tiny.data, "--progress", "off", cwd=tmp_path,
    )  # fmt: skip
    table = cluster.submit(f"--dependency=afterany:{array}", COLLECT, results, *models, cwd=tmp_path)
    lines = cluster.submit(f"--dependency=afterany:{array}", COLLECT, "--json-lines", results, *models, cwd=tmp_path)

    tasks = cluster.wait(array)
    for task in tasks[:NUM_GOOD]:
        task.must_complete()
    tasks[NUM_GOOD].must_fail(4, "broken.pt")

    found = cluster.wait(table)[0].must_fail(1).output.splitlines()
    assert found[0].split()[:3] == ["result", "samples", "accuracy"]
    assert len(found) == 1 + len(models)
    assert found[-1].split() == ["broken", "missing"]
    assert found[1].startswith("epoch 1 ")  # the labels are mostly this one's, so it stands first

    reports = [json.loads(line) for line in cluster.wait(lines)[0].output.splitlines()]
    assert [report["status"] for report in reports] == [*["complete"] * NUM_GOOD, "missing"]
    assert reports[0]["digests"]["state"] == tiny.digests[0]
    assert len({report["digests"]["state"] for report in reports[:NUM_GOOD]}) == NUM_GOOD


@pytest.mark.parametrize(
    ("array", "words", "expected"),
    [
        ("0-2", ["s", "r", "a.pt", "b.pt", "--"], "no model for task 2: submit 2 models with --array=0-1"),
        ("0", ["s", "r", "a.pt", "b.pt"], "no '--' after the models"),
        ("0", ["s", "r"], "expected SCRIPT RESULTS MODEL"),
        ("0", [str(CPU), "r", "x/a.pt", "y/a.ts", "--"], "two models are called 'a'"),
        ("0", ["no-script", "r", "a.pt", "--"], "cannot read the script 'no-script'"),
    ],
)
def test_refusals(array: str, words: list[str], expected: str, cluster: Cluster, tmp_path: Path) -> None:
    job = cluster.submit(f"--array={array}", "--ntasks-per-node=1", ARRAY, *words, cwd=tmp_path)
    cluster.wait(job)[-1].must_fail(2, "evaluate-array: error[2]", expected)


def test_table_of_all_results_below_a_folder(tally: Program, tiny: Case, tmp_path: Path) -> None:
    for name, limit in (("first", 50), ("deep/second", 103)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        tally("evaluate", *tiny.options, "--limit", limit, "--output", tmp_path / name).must_succeed()
    (tmp_path / "first" / "report.json.partial").write_text("{")
    ended = collect("--metrics", "loss,mcc", tmp_path)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0].split() == ["result", "samples", "loss", "mcc", "state", "digest"]
    losses = [float(line.split()[2]) for line in lines[1:]]
    assert losses == sorted(losses)
    assert {tuple(line.split()[:2]) for line in lines[1:]} == {("first", "50"), ("second", "103")}


def test_wrong_usage_of_the_table(tmp_path: Path) -> None:
    assert collect(tmp_path / "absent").returncode == 2
    assert "no report.json below" in collect(tmp_path).stderr
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.json").write_text("{")
    ended = collect(tmp_path, "run.pt")
    assert ended.returncode == 1
    assert "unreadable" in ended.stdout
