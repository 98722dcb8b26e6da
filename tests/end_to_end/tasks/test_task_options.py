# SPDX-License-Identifier: Apache-2.0
"""What --task and the options of metrics mean for data and models where they can be misread."""

import os
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
import torch
from conftest import Evaluate, Small
from launch import Program
from paired_tasks import linear_model
from tally_data import DataSetWriter

SAMPLES, FEATURES = 201, 5


@pytest.mark.parametrize(("task", "outputs"), [("multiclass", 2), ("binary", 1)])
@pytest.mark.parametrize("classes", [1, 2], ids=["one absent", "both present"])
def test_two_classes_may_be_read_as_either_task(
    evaluate: Evaluate, tmp_path: Path, task: str, outputs: int, classes: int
) -> None:
    random = np.random.default_rng(7)
    features = random.normal(size=(SAMPLES, FEATURES)).astype(np.float32)
    targets = random.integers(0, classes, SAMPLES)
    for stored in ("multiclass", "binary"):
        with DataSetWriter(tmp_path / f"{stored}.h5", task=stored, num_classes=2, num_samples=SAMPLES) as out:
            out.add_input("x", dtype="float32", shape=(FEATURES,)).append(features)
            out.add_target("label").append(targets)
    model = linear_model(random.normal(size=(FEATURES, outputs)).astype(np.float32), tmp_path / "model.pt")
    results = [
        evaluate(model, tmp_path / f"{stored}.h5", "--task", task, "--metrics", "all", "--save", "labels")
        for stored in ("multiclass", "binary")
    ]
    assert results[0].digests == results[1].digests
    for part in ("task", "metrics", "per_class"):
        assert results[0].report[part] == results[1].report[part], part
    assert results[0].report["task"] == task


@pytest.mark.parametrize(("task", "options", "says"), [
    ("multiclass", ("--curves", "bf16"), "--curves changes nothing"),
    ("multiclass", ("--metrics", "accuracy", "--calibration-bins", 20), "--calibration-bins changes nothing"),
    ("multiclass", ("--metrics", "accuracy", "--save", "none", "--label-smoothing", 0.1), "--label-smoothing changes"),
    ("multiclass", ("--seed", 3), "--seed changes nothing"),
    ("multiclass", ("--bootstrap-replicas", 50), "--bootstrap-replicas changes nothing"),
    ("multiclass", ("--weights-key", "a"), "--weights-key changes nothing: no weights"),
    ("multiclass", ("--weights-prefix", "a."), "--weights-prefix changes nothing: no weights"),
    ("multiclass", ("--tune", "--cpu-kernels", "torch", "--device", "cpu"), "--tune changes nothing"),
    ("multiclass", ("--cuda-graphs", "off"), "--cuda-graphs changes nothing"),
    ("regression", ("--confusion-max-classes", 3), "--confusion-max-classes changes nothing"),
])  # fmt: skip
def test_an_idle_option_is_told(evaluate: Evaluate, tmp_path: Path, task: str, options: tuple, says: str) -> None:
    with DataSetWriter(tmp_path / "set.h5", task=task, num_classes=3, num_samples=9) as out:
        out.add_input("x", dtype="float32", shape=(3,)).append(np.eye(3, dtype=np.float32).repeat(3, 0))
        out.add_target("label").append(np.eye(3, dtype=np.float32).repeat(3, 0) if task == "regression" else [0] * 9)
    model = linear_model(np.eye(3, dtype=np.float32), tmp_path / "model.pt")
    notes = evaluate(model, tmp_path / "set.h5", *options).report["notes"]
    assert any(says in note for note in notes), notes
    assert not any("changes nothing" in note for note in evaluate(model, tmp_path / "set.h5").report["notes"])


@pytest.mark.parametrize(("samples", "ranks", "tried"), [(103, 3, False), (1024, 1, True)])
def test_a_batch_size_that_was_found_repeats_the_run(
    small_case: Small, evaluate: Evaluate, tmp_path: Path, samples: int, ranks: int, tried: bool
) -> None:
    """Its network has convolutions, which are compiled for the size of the batches."""
    data = small.make_set(samples).write(tmp_path / "set.h5")
    found = evaluate(small_case.model, data, "--batch-size", "auto", "--device", "cpu", ranks=ranks)
    size, batches = (found.report["plan"][key] for key in ("batch_size", "batches"))
    assert batches >= 4 * ranks
    how = "" if tried else " without trying others"
    assert any(f"--batch-size auto chose {size}{how}:" in note for note in found.report["notes"])
    again = evaluate(small_case.model, data, "--batch-size", size, "--device", "cpu")
    assert again.digests == found.digests


@pytest.mark.parametrize(("samples", "ranks", "threads", "size", "better"), [
    (96, 2, 1, 64, 48),
    (90, 2, 2, 64, 45),
    (96, 1, 1, 90, 48),
    (60, 1, 1, 1000, None),
    (60, 1, 1, 64, None),
    (96, 2, 1, 50, None),
    (20, 2, 2, 16, 10),
    (20, 2, 4, 16, None),
])  # fmt: skip
def test_a_batch_size_that_shares_samples_better_is_named(
    small_case: Small, evaluate: Evaluate, samples: int, ranks: int, threads: int, size: int, better: int | None
) -> None:
    def advice(batch_size: int) -> list[str]:
        options = ("--limit", samples, "--threads", threads, "--batch-size", batch_size, "--device", "cpu")
        report = evaluate(small_case.model, small_case.data, *options, ranks=ranks).report
        return [note for note in report["notes"] if "wastes less" in note or "would do" in note]

    found = advice(size)
    assert len(found) == (better is not None)
    if better is not None:
        assert f" where {-(-samples // ranks)} would do" in found[0]
        assert f"--batch-size {better} wastes less" in found[0]
        assert advice(better) == []


@pytest.mark.parametrize(("threads", "told"), [(1, False), (2, True)])
def test_threads_that_share_a_core_are_told(tally: Program, small_case: Small, threads: int, told: bool) -> None:
    core = min(os.sched_getaffinity(0))
    run = tally.run_command(["taskset", "-c", str(core), *tally.command(
        "check", "--model", small_case.model, "--data", small_case.data, "--device", "cpu", "--threads", threads)])  # fmt: skip
    run.must_succeed()
    assert ("2 threads of a rank share 1 core" in run.stderr) == told, run.stderr


def num_cores() -> int:
    """Those with threads of their own that share them count once."""
    files = [Path(f"/sys/devices/system/cpu/cpu{i}/topology/thread_siblings_list") for i in os.sched_getaffinity(0)]
    return len({file.read_text() if file.exists() else file for file in files})


@pytest.mark.skipif(num_cores() < 2, reason="needs 2 cores")
def test_idle_cores_are_told_though_open_mpi_binds_to_one(tally: Program, small_case: Small) -> None:
    options = ("check", "--model", small_case.model, "--data", small_case.data, "--device", "cpu")
    launch = tally.command(*options, ranks=1)
    said = [tally.run_command([launch[0], "--bind-to", to, *launch[1:]]).must_succeed().stderr for to in ("core", "none")]
    assert re.search(r"1 of \d+ cores are used; a rank per core \(mpirun -n \d+\)", said[0]), said[0]
    assert said[0] == said[1]


def test_the_matrix_alone_leaves_subgroups_without_metrics(evaluate: Evaluate, tmp_path: Path) -> None:
    with DataSetWriter(tmp_path / "set.h5", task="multiclass", num_classes=3, num_samples=9) as out:
        out.add_input("x", dtype="float32", shape=(3,)).append(np.eye(3, dtype=np.float32).repeat(3, 0))
        out.add_target("label").append([0, 1, 2] * 3)
        out.add_group("site", np.arange(9, dtype=np.int32) % 2)
    model = linear_model(np.eye(3, dtype=np.float32), tmp_path / "model.pt")
    report = evaluate(model, tmp_path / "set.h5", "--metrics", "confusion_matrix", ranks=2).report
    assert report["metrics"] == {}
    assert [value["metrics"] for value in report["groups"]["site"]["values"]] == [{}, {}]
    assert [value["samples"] for value in report["groups"]["site"]["values"]] == [5, 4]
    none = evaluate(model, tmp_path / "set.h5", "--metrics", "none").report
    assert none["metrics"] == {} and none["samples"]["evaluated"] == 9


def test_one_label_is_not_two_classes(evaluate: Evaluate, tmp_path: Path) -> None:
    random = np.random.default_rng(11)
    features, targets = random.normal(size=(30, 3)).astype(np.float32), random.integers(0, 2, (30, 1))
    model = linear_model(random.normal(size=(3, 1)).astype(np.float32), tmp_path / "model.pt")
    results = {}
    for task, classes, kind in (("multilabel", 1, np.uint8), ("binary", 2, np.int64)):
        with DataSetWriter(tmp_path / f"{task}.h5", task=task, num_classes=classes, num_samples=30) as out:
            out.add_input("x", dtype="float32", shape=(3,)).append(features)
            out.add_target("label").append((targets if task == "multilabel" else targets[:, 0]).astype(kind))
        options = ("--metrics", "all", "--confusion-max-classes", 0)
        results[task] = evaluate(model, tmp_path / f"{task}.h5", *options)
    assert results["multilabel"].report["per_class"][0]["auroc"] == results["binary"].value("auroc")
    for task, place in (("multilabel", "0"), ("binary", "1")):
        with h5py.File(results[task].folder / "metrics.h5") as file:
            assert list(file["curves"]) == [place]
            assert file["confusion"][()].ravel().sum() == 30
            assert file.attrs["task"].decode() == task
        assert any("--confusion-max-classes changes nothing" in note for note in results[task].report["notes"])


def test_a_limit_beyond_the_data_set_is_told(small_case: Small, evaluate: Evaluate) -> None:
    told = "--limit 104 is more than the 103 samples of the data set"
    assert told in evaluate(small_case.model, small_case.data, "--limit", 104, ranks=2).report["notes"]
    notes = evaluate(small_case.model, small_case.data, "--limit", 103).report["notes"]
    assert not any("--limit" in note for note in notes)


class FirstLessSecond(torch.nn.Module):
    def forward(self, second: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        return first - second


@pytest.mark.parametrize("names", [("second", "first"), ("a", "first")])
def test_without_a_card_inputs_go_by_the_models_own_names(names: tuple, evaluate: Evaluate, tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    given = {name: random.normal(size=(9, 3)).astype(np.float32) for name in names}
    with DataSetWriter(tmp_path / "set.h5", task="multiclass", num_classes=3, num_samples=9) as out:
        for name, values in given.items():
            out.add_input(name, dtype="float32", shape=(3,), data=values)
        out.add_target("label", np.zeros(9, np.int64))
    model = small.save_model(torch.jit.script(FirstLessSecond()), tmp_path / "model.pt")
    saved = small.columns(evaluate(model, tmp_path / "set.h5", "--save", "logits").folder / "predictions.h5")
    in_order = [given[name] for name in (names if names[0] == "second" else sorted(names))]
    np.testing.assert_array_equal(saved["logits"], in_order[1] - in_order[0])
