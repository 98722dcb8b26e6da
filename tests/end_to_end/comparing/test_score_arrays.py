# SPDX-License-Identifier: Apache-2.0
"""Arrays of numpy and CSV, which `tally score` takes as they are: the figures and digests of a predictions.h5."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from array_predictions import check_logits, check_same, values_of, write_csv, write_npy
from conftest import Evaluate, Small
from launch import Program
from paired_tasks import METRICS, paired_task
from task_cases import TASK_CASES


def test_logits(small_case: Small, evaluate: Evaluate, score: Evaluate, tmp_path: Path) -> None:
    check_logits(small_case, evaluate, score, tmp_path, (1, 2, 5))


@pytest.mark.parametrize("task", ["binary", "multilabel", "regression"])
def test_of_other_tasks(task: str, evaluate: Evaluate, score: Evaluate, tmp_path: Path) -> None:
    paired = paired_task(task, tmp_path, evaluate)
    column, outputs = ("prediction", "values") if task == "regression" else ("logits", "logits")
    values = values_of(paired.runs[0], column)
    options = ("--metrics", METRICS[task], "--save", "labels")
    expected = score(paired.runs[0].folder / "predictions.h5", paired.data, *options)
    for path in (write_npy(tmp_path / "p.npy", values, (2, 0)), write_csv(tmp_path / "p.csv", values)):
        check_same(score(path, paired.data, "--outputs", outputs, *options, ranks=3), expected)
    if task == "regression":
        return
    shares = values_of(paired.runs[0], "score" if task == "binary" else "probabilities")
    for path in (write_npy(tmp_path / "s.npy", shares, (3, 0)), write_csv(tmp_path / "s.csv", shares)):
        scored = score(path, paired.data, "--outputs", "probabilities", *options, ranks=3)
        metric = "accuracy" if task == "binary" else "exact_match"
        assert scored.value(metric) == expected.value(metric)


@pytest.mark.parametrize("name", ["segmentation", "regression_of_maps"])
def test_of_images(name: str, evaluate: Evaluate, score: Evaluate, tally: Program, tmp_path: Path) -> None:
    case = TASK_CASES[name](tmp_path)
    options = ("--metrics", "all", "--on-nan", "wrong")
    run = evaluate(case.model, case.data, *options, "--save", "labels,masks")
    values = values_of(run, "prediction")
    expected = score(run.folder / "predictions.h5", case.data, *options)
    outputs = "classes" if name == "segmentation" else "values"
    path = write_npy(tmp_path / "p.npy", values)
    scored = score(path, case.data, "--outputs", outputs, *options, ranks=3)
    check_same(scored, expected)
    assert not any("--outputs" in note for note in scored.report["notes"])
    words = ("--data", case.data, "--output", tmp_path / "no", "--outputs")
    if name == "segmentation":
        tally("score", "--predictions", path, *words, "logits", ranks=2).must_fail(
            3, f"'{path}' holds uint8, expected float32 of --outputs logits"
        )
        table = write_csv(tmp_path / "p.csv", values)
        tally("score", "--predictions", table, *words, "classes").must_fail(3, "is CSV, which has no masks")


def test_scores_of_each_pixel(score: Evaluate, evaluate: Evaluate, tmp_path: Path) -> None:
    """What a network for masks returns, before the best class is taken."""
    case = TASK_CASES["segmentation"](tmp_path)
    run = evaluate(case.model, case.data, "--on-nan", "wrong")
    with h5py.File(case.data) as file:
        scores = file["inputs"][next(iter(file["inputs"]))][...]
    path = write_npy(tmp_path / "p.npy", scores)
    scored = score(path, case.data, "--outputs", "logits", "--on-nan", "wrong", ranks=2)
    assert scored.report["metrics"] == run.report["metrics"]


def refused_files(folder: Path, values: np.ndarray) -> dict[str, tuple[Path, int, str]]:
    """For each its exit code, and what is said."""
    fortran = write_npy(folder / "fortran.npy", np.asfortranarray(values))
    cut = folder / "cut.npy"
    cut.write_bytes(write_npy(folder / "whole.npy", values).read_bytes()[:-1])
    damaged = folder / "damaged.npy"
    damaged.write_bytes(cut.read_bytes().replace(b"False", b"Maybe"))
    objects = folder / "objects.npy"
    np.save(objects, np.array([None, {}], object), allow_pickle=True)
    records = write_npy(folder / "records.npy", np.zeros(len(values), [("a", "<f4"), ("b", "<f4")]))
    texts = write_csv(folder / "texts.csv", values)
    lines = texts.read_text().splitlines()
    texts.write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ",none"]))
    indexed = folder / "indexed.csv"
    indexed.write_text("\n".join([f"index,{lines[0]}", *(f"{row},{line}" for row, line in enumerate(lines[1:]))]))

    def of(name: str, array: np.ndarray) -> Path:
        return write_npy(folder / name, array)

    swapped, nan = values.astype(">f4"), np.where(values == values[5, 2], np.nan, values)
    return {
        "fortran": (fortran, 3, "Save numpy.ascontiguousarray(values)."),
        "half": (of("half.npy", values.astype(np.float16)), 3, "astype(numpy.float32)"),
        "big_endian": (of("big.npy", swapped), 3, "Save values.astype('<f4')."),
        "double": (of("double.npy", values.astype(float)), 3, "holds float64, expected float32 of --outputs logits"),
        "objects": (objects, 3, "holds '|O'"),
        "records": (records, 3, "holds records, expected numbers"),
        "cut": (cut, 3, "behind its header"),
        "damaged": (damaged, 3, "has a damaged .npy header"),
        "narrow": (of("narrow.npy", np.ascontiguousarray(values[:, 1:])), 3, "narrow.npy': "),
        "short": (write_csv(folder / "short.csv", values[1:]), 3, f"short.csv' has {len(values) - 1} rows"),
        "texts": (texts, 3, f"line {len(values) + 1}, cell {values.shape[1]}: 'none', expected a number"),
        "indexed": (indexed, 3, "has a column 'index', but rows are taken in the order of the data set. data_tools/"),
        "not_finite": (write_csv(folder / "nan.csv", nan), 7, "1 sample: 5"),
    }


def test_what_is_refused(small_case: Small, tally: Program, tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=(len(small_case.samples.labels), 7)).astype(np.float32)
    words = ("--data", small_case.data, "--output", tmp_path / "out", "--progress", "off")
    for name, (path, code, said) in refused_files(tmp_path, values).items():
        ranks = 3 if name in ("fortran", "texts", "not_finite") else None
        tally("score", "--predictions", path, *words, "--outputs", "logits", ranks=ranks).must_fail(code, said)
    table = write_csv(tmp_path / "p.csv", values)
    for path in (table, write_npy(tmp_path / "p.npy", values)):
        for ranks in (None, 3):
            tally("score", "--predictions", path, *words, ranks=ranks).must_fail(
                2, f"'{path}' does not say what its numbers are. Say it: --outputs logits, log-prob"
            )
        run = tally("score", "--predictions", path, *words, "--outputs", "values")
        run.must_fail(2, "--outputs values: saved predictions for multiclass are")
    packed = tmp_path / "p.npz"
    np.savez(packed, values=values)
    run = tally("score", "--predictions", packed, *words, "--outputs", "logits")
    run.must_fail(3, "p.npz'", "data_tools/prepare_predictions.py")


def test_columns_named_like_the_classes(small_case: Small, score: Evaluate, tally: Program, tmp_path: Path) -> None:
    values = np.random.default_rng(2).normal(size=(len(small_case.samples.labels), 7)).astype(np.float32)
    names = [f"class {index}" for index in range(7)]
    with_names, without = write_csv(tmp_path / "p.csv", values, names), write_npy(tmp_path / "p.npy", values)
    check_same(*(score(path, small_case.data, "--outputs", "logits") for path in (with_names, without)))
    swapped = write_csv(tmp_path / "swapped.csv", values, [*names[1:], names[0]])
    words = ("--data", small_case.data, "--output", tmp_path / "no", "--outputs", "logits")
    run = tally("score", "--predictions", swapped, *words)
    run.must_fail(3, "swapped.csv' has a column 'class 1', but not all classes")
