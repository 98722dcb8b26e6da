# SPDX-License-Identifier: Apache-2.0
"""prepare_predictions: predicted classes without scores, by number and by name, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from conftest import Tool
from test_prepare_predictions import CLASSES, NAME, NAMES, SAMPLES, SHUFFLED, save, write_csv, write_data

PREDICTED = np.arange(SAMPLES) % CLASSES
ALONE = ("--outputs", "classes")


Predict = Callable[[Path, Path], np.ndarray]


@pytest.fixture
def predicted(tmp_path: Path, succeed: Tool) -> Predict:
    """predicted(input, data) -> the column."""

    def run(source: Path, data: Path) -> np.ndarray:
        output = tmp_path / "p.h5"
        succeed(NAME, "--input", source, "--data", data, "--output", output, "--overwrite", *ALONE)
        with h5py.File(output) as file:
            assert sorted(file) == ["index", "prediction"] and file.attrs["outputs"] == b"classes"
            return file["prediction"][...]

    return run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "set.h5")


def renamed(data: Path, names: list[str]) -> Path:
    with h5py.File(data, "r+") as file:
        del file["class_names"]
        file["class_names"] = names
    return data


@pytest.mark.parametrize("form", ["npz", "csv", "parquet"])
def test_rows_find_their_samples(form: str, data: Path, predicted: Predict, tmp_path: Path) -> None:
    source = save(form, tmp_path, PREDICTED[SHUFFLED, None], index=SHUFFLED)
    assert predicted(source, data).tolist() == PREDICTED.tolist()


def test_classes_by_name(data: Path, predicted: Predict, tmp_path: Path, fail: Tool) -> None:
    by_name = [NAMES[number] for number in PREDICTED]
    source = write_csv(
        tmp_path / "in.csv", {"name": [f"img/{number}é.png" for number in range(SAMPLES)], "class": by_name}
    )
    assert (predicted(source, data) == PREDICTED).all()
    arrow = pytest.importorskip("pyarrow", reason="pyarrow, which reads parquet, is not installed")
    table = arrow.table({"class": arrow.array(by_name).dictionary_encode()})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "in.parquet")
    assert (predicted(tmp_path / "in.parquet", data) == PREDICTED).all()
    by_name[4] = "Dog"
    source = write_csv(tmp_path / "in.csv", {"class": by_name})
    words = ["--input", source, "--data", data, *ALONE]
    fail(NAME, *words, code=3, says=f"line 6: 'Dog', expected a class of '{data}', its name or its number")


def test_names_that_are_numbers(data: Path, predicted: Predict, tmp_path: Path, fail: Tool) -> None:
    """As those of digits are; where a name is the number of another class, nobody can tell which is meant."""
    source = write_csv(tmp_path / "in.csv", {"class": PREDICTED})
    assert (predicted(source, renamed(data, ["0", "1", "2"])) == PREDICTED).all()
    words = ["--input", source, "--data", renamed(data, ["7", "0", "2"]), *ALONE]
    fail(NAME, *words, code=3, says="line 2: '0', which is the name of one class and the number of another")
    np.save(tmp_path / "in.npy", PREDICTED)
    assert (predicted(tmp_path / "in.npy", data) == PREDICTED).all()


@pytest.mark.parametrize(("task", "num_classes", "shape", "says"), [
    ("multiclass", CLASSES, (), "row 11: '3', expected 0..2"),
    ("multiclass", CLASSES, (CLASSES,), "is [N, 3], expected [N] or [N, 1]: classes for multiclass"),
    ("binary", 2, (), "row 11: '2', expected 0..1"),
    ("binary", 2, (2,), "is [N, 2], expected [N] or [N, 1]: classes for binary"),
    ("multilabel", 4, (4,), "row 11, value [0]: '2', expected 0..1"),
    ("multilabel", 4, (), "is [N], expected [N, 4]: classes for multilabel"),
])  # fmt: skip
def test_values_that_are_no_classes(
    task: str, num_classes: int, shape: tuple[int, ...], says: str, tmp_path: Path, fail: Tool
) -> None:
    values = np.zeros((SAMPLES, *shape), np.int64)
    values[11] = CLASSES if task == "multiclass" else 2
    np.save(tmp_path / "in.npy", values)
    data = write_data(tmp_path / "set.h5", task, num_classes)
    fail(NAME, "--input", tmp_path / "in.npy", "--data", data, *ALONE, code=3, says=says)
    values = values.astype(np.float32)
    values[11] = 0.5
    np.save(tmp_path / "in.npy", values)
    fail(NAME, "--input", tmp_path / "in.npy", "--data", data, *ALONE, code=3, says="expected")
