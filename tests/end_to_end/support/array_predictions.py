# SPDX-License-Identifier: Apache-2.0
"""Predictions as arrays of numpy and as CSV, of the numbers that a run has saved."""

from pathlib import Path

import h5py
import numpy as np
from conftest import Evaluate, Result, Small


def values_of(run: Result, column: str) -> np.ndarray:
    with h5py.File(run.folder / "predictions.h5") as file:
        return file[column][...]


def write_csv(path: Path, values: np.ndarray, names: list[str] | None = None) -> Path:
    """float32 in nine digits, which say it whole."""
    table = values.reshape(len(values), -1)
    header = ",".join(names or [f"v{column}" for column in range(table.shape[1])])
    np.savetxt(path, table, fmt="%.9g", delimiter=",", header=header, comments="")
    return path


def write_npy(path: Path, values: np.ndarray, version: tuple[int, int] = (1, 0)) -> Path:
    with path.open("wb") as file:
        np.lib.format.write_array(file, values, version=version)
    return path


def check_same(found: Result, expected: Result) -> None:
    assert found.digests == expected.digests
    for key in ("metrics", "per_class", "samples", "groups", "calibration"):
        assert found.report.get(key) == expected.report.get(key), key


def check_logits(small_case: Small, evaluate: Evaluate, score: Evaluate, folder: Path, ranks: tuple[int, ...]) -> None:
    run = evaluate(small_case.model, small_case.data, "--save", "logits")
    options = ("--save", "labels,logits", "--intervals", "bootstrap", "--bootstrap-replicas", 20)
    saved = run.folder / "predictions.h5"
    expected = score(saved, small_case.data, *options)
    values = values_of(run, "logits")
    for path in (write_npy(folder / "p.npy", values), write_csv(folder / "p.csv", values)):
        for count in ranks:
            scored = score(path, small_case.data, "--outputs", "logits", *options, ranks=count)
            check_same(scored, expected)
            given, model = scored.report["inputs"]["model"], expected.report["inputs"]["model"]
            assert given.keys() == model.keys()
            assert given["path"] == str(path) and given["bytes"] == path.stat().st_size
