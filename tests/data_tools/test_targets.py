# SPDX-License-Identifier: Apache-2.0
"""DataSetWriter: targets of binary, multilabel and regression, masks and maps."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from tally_data import DataError, DataSetWriter, UsageError

NAN, INF = np.float32("nan"), np.float32("inf")


def write(path: Path, rows: object, num_samples: int = 4, **options: object) -> None:
    """A set with one input; `rows` in pieces of one and of the rest."""
    with DataSetWriter(path, num_samples=num_samples, **options) as out:
        out.add_input("x", dtype="float32", data=np.zeros(num_samples, np.float32))
        label = out.add_target()
        label.append(rows[:1])
        label.append(rows[1:])


FLAGS = [[0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 255]]
VALUES = np.array([[0.5, -1], [1, 2], [3, 3.4e38], [-0.0, 1e-45]], np.float32)

GOOD = [
    ({"task": "binary", "num_classes": 2}, [0, 1, 1, 0], "<i8"),
    ({"task": "binary", "num_classes": 2, "ignore_index": -1}, [0, 1, -1, 0], "<i8"),
    ({"task": "multilabel", "num_classes": 3, "ignore_index": 255}, FLAGS, "|u1"),
    ({"task": "multilabel", "num_classes": 1}, np.array([[True], [False], [True], [True]]), "|u1"),
    ({"task": "regression", "num_classes": 2, "class_names": ["x", "y"]}, VALUES, "<f4"),
    ({"task": "regression", "num_classes": 1}, VALUES[:, 0], "<f4"),
    ({"task": "regression", "num_classes": 1}, VALUES[:, 0].astype(np.float16), "<f4"),
]


@pytest.mark.parametrize(("options", "rows", "stored"), GOOD)
def test_targets_read_back(tmp_path: Path, options: dict, rows: object, stored: str) -> None:
    write(tmp_path / "a.h5", rows, **options)
    with h5py.File(tmp_path / "a.h5") as file:
        label = file["targets/label"]
        assert label.dtype == np.dtype(stored)
        assert np.array_equal(label[...], np.asarray(rows)) and label.shape == np.shape(rows)
        assert file["checksums/targets/label"].attrs["rows_per_block"] == 64
        assert file.attrs["task"].decode() == options["task"]
        assert file.attrs["num_classes"] == options["num_classes"]
        assert file.attrs.get("ignore_index") == options.get("ignore_index")
        assert ("class_names" in file) == ("class_names" in options)


BINARY = {"task": "binary", "num_classes": 2}
MULTILABEL = {"task": "multilabel", "num_classes": 3}
REGRESSION = {"task": "regression", "num_classes": 2}


def test_predict_has_no_targets(tmp_path: Path) -> None:
    with DataSetWriter(tmp_path / "a.h5", task="predict", num_samples=2) as out:
        out.add_input("x", dtype="float32", data=np.zeros(2, np.float32))
    with h5py.File(tmp_path / "a.h5") as file:
        assert "targets" not in file and "num_classes" not in file.attrs
        assert file.attrs["task"] == b"predict"


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
def test_masks_read_back(tmp_path: Path, dtype: str) -> None:
    masks = np.array([[[0, 1, 2]], [[9, 2, 9]]], dtype)
    with DataSetWriter(tmp_path / "a.h5", task="segmentation", num_classes=3, num_samples=2, ignore_index=9) as out:
        out.add_input("x", dtype="float32", data=np.zeros(2, np.float32))
        out.add_mask(height=1, width=3, dtype=dtype, data=masks)
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["targets/label"].dtype == np.dtype(dtype)
        assert np.array_equal(file["targets/label"][...], masks)


@pytest.mark.parametrize(("task", "call", "error", "says"), [
    ("segmentation", lambda out: out.add_mask(height=1, width=2, data=np.array([[[0, 1]], [[0, 3]]], np.uint8)),
     DataError, r"/targets/label\[1, 0, 1\] = 3, expected 0..2"),
    ("segmentation", lambda out: out.add_mask(height=1, width=2, dtype="float32"), UsageError, "dtype float32"),
    ("segmentation", lambda out: out.add_target(), UsageError, "use add_mask"),
    ("multiclass", lambda out: out.add_token_labels(length=2), UsageError, "use add_target"),
    ("multiclass", lambda out: out.add_mask(height=1, width=2), UsageError, "use add_target"),
])  # fmt: skip
def test_bad_masks_are_refused(tmp_path: Path, task: str, call: object, error: type, says: str) -> None:
    with (
        pytest.raises(error, match=says),
        DataSetWriter(tmp_path / "a.h5", task=task, num_classes=3, num_samples=2) as out,
    ):
        call(out)


MAPS = np.array([[[0.5, NAN]], [[NAN, NAN]], [[-3e38, 1e-45]]], np.float32)


def write_maps(path: Path, rows: object, **options: object) -> None:
    with DataSetWriter(path, num_samples=3, **{"task": "regression", "num_classes": 1} | options) as out:
        out.add_input("x", dtype="float32", data=np.zeros(3, np.float32))
        label = out.add_map(height=1, width=2)
        label.append(rows[:1])
        label.append(rows[1:])


def test_maps_read_back(tmp_path: Path) -> None:
    write_maps(tmp_path / "a.h5", MAPS)
    with h5py.File(tmp_path / "a.h5") as file:
        label = file["targets/label"]
        assert label.dtype == np.dtype("<f4") and "checksums/targets/label" in file
        assert np.array_equal(label[...], MAPS, equal_nan=True) and label.shape == (3, 1, 2)
        assert file.attrs["num_classes"] == 1 and "ignore_index" not in file.attrs


@pytest.mark.parametrize(("options", "rows", "error", "says"), [
    ({}, np.where(MAPS == 0.5, MAPS, INF), DataError, r"label\[0, 0, 1\] = inf, expected finite numbers, or NaN"),
    ({}, np.where(MAPS < 0, -INF, MAPS), DataError, r"label\[2, 0, 0\] = -inf, expected finite numbers, or NaN"),
    ({}, MAPS.astype(np.float64), DataError, "float64, expected float32"),
    ({}, MAPS[:, 0], DataError, r"shape \[1, 2\], expected \[n, 1, 2\]"),
    ({"num_classes": 2}, MAPS, UsageError, "num_classes is 2, expected 1 for a regression's maps"),
    ({"task": "segmentation", "num_classes": 2}, MAPS, UsageError, "the task segmentation has no maps"),
])  # fmt: skip
def test_bad_maps_are_refused(tmp_path: Path, options: dict, rows: object, error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        write_maps(tmp_path / "a.h5", rows, **options)
    assert list(tmp_path.iterdir()) == []


TOKENS = {"task": "token-classification", "num_classes": 3, "num_samples": 2, "ignore_index": -100}
TAGS = np.array([[0, -100, 2], [1, -100, -100]])


def write_tokens(path: Path, rows: object, with_lengths: bool = True, **options: object) -> None:
    with DataSetWriter(path, **TOKENS | options) as out:
        out.add_sequence("/inputs/input_ids", "int32", 2, 3, 0).append([[5, 6, 7], [5, 0, 0]])
        if with_lengths:
            out.add_column("/lengths", "int32", 2).append([3, 1])
        out.add_token_labels(length=3, data=rows)


def test_labels_of_tokens_read_back(tmp_path: Path) -> None:
    write_tokens(tmp_path / "a.h5", TAGS, class_names=["O", "B-PER", "I-PER"])
    with h5py.File(tmp_path / "a.h5") as file:
        label = file["targets/label"]
        assert label.dtype == np.dtype("<i8") and np.array_equal(label[...], TAGS) and "checksums/targets/label" in file
        assert dict(file.attrs) == {"tally_schema": 1, "task": b"token-classification", "num_classes": 3, "ignore_index": -100}


@pytest.mark.parametrize(("options", "rows", "error", "says"), [
    ({}, TAGS + 1, DataError, r"label\[0, 1\] = -99, expected 0..2 or ignore_index -100"),
    ({}, TAGS[:, 0], DataError, r"shape \[2\], expected \[n, 3\]"),
    ({"ignore_index": None}, TAGS, UsageError, "ignore_index was not given; the task token-classification needs one"),
    ({"ignore_index": 2}, TAGS, UsageError, "ignore_index is 2, one of the classes; the task token-classification needs one"),
    ({"num_classes": 1}, TAGS, UsageError, "num_classes is 1, expected 2 to"),
    ({"with_lengths": False}, TAGS, DataError, "has inputs with padding, but no /lengths"),
    ({"task": "multiclass"}, TAGS, UsageError, "the task multiclass has no labels of tokens: use add_target"),
])  # fmt: skip
def test_bad_labels_of_tokens_are_refused(tmp_path: Path, options: dict, rows: object, error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        write_tokens(tmp_path / "a.h5", rows, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_target_of_predict_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="the task predict has no targets"),
        DataSetWriter(tmp_path / "a.h5", task="predict", num_samples=2) as out,
    ):
        out.add_target()


BAD_ROWS = [
    (BINARY, [0, 1, 2, 0], r"/targets/label\[2\] = 2, expected 0..1$"),
    (BINARY, [[0], [1], [1], [0]], r"shape \[1, 1\], expected \[n\]"),
    (MULTILABEL, FLAGS, r"/targets/label\[3, 2\] = 255, expected 0..1$"),
    (MULTILABEL | {"ignore_index": 254}, FLAGS, r"\[3, 2\] = 255, expected 0..1 or ignore_index 254"),
    (MULTILABEL, [[0, 1, 2]] * 4, r"/targets/label\[0, 2\] = 2, expected 0..1$"),
    (MULTILABEL, [[0, 1, -1]] * 4, "values -1..1 do not fit uint8"),
    (MULTILABEL, [[0, 1]] * 4, r"shape \[1, 2\], expected \[n, 3\]"),
    (MULTILABEL, [0, 1, 2, 0], r"shape \[1\], expected \[n, 3\]"),
    (MULTILABEL, np.zeros((4, 3), np.float32), "float32, expected uint8"),
    (REGRESSION, [[0.5, 1.5]] * 4, "float64, expected float32"),
    (REGRESSION, np.array([[1, 2], [3, 4], [5, NAN], [7, 8]], np.float32), r"\[2, 1\] = nan, expected finite"),
    (REGRESSION, np.array([[-INF, 2]] * 4, np.float32), r"\[0, 0\] = -inf, expected finite numbers"),
    (REGRESSION, np.zeros(4, np.float32), r"shape \[1\], expected \[n, 2\]"),
    (REGRESSION | {"num_classes": 1}, np.zeros((4, 1), np.float32), r"shape \[1, 1\], expected \[n\]"),
    (REGRESSION | {"num_classes": 1}, np.full(4, NAN), r"/targets/label\[0\] = nan, expected finite"),
]


@pytest.mark.parametrize(("options", "rows", "says"), BAD_ROWS)
def test_bad_targets_leave_nothing(tmp_path: Path, options: dict, rows: object, says: str) -> None:
    with pytest.raises(DataError, match=says):
        write(tmp_path / "a.h5", rows, **options)
    assert list(tmp_path.iterdir()) == []


BAD_ARGUMENTS = [
    (BINARY | {"num_classes": 3}, "num_classes is 3, expected 2 for the task binary"),
    (MULTILABEL | {"num_classes": 0}, "num_classes is 0, expected 1 to 2147483647"),
    (REGRESSION | {"num_classes": 0}, "num_classes is 0, expected 1 to 2147483647"),
    (MULTILABEL | {"ignore_index": 1}, "ignore_index is 1, expected 2 to 255 for the task multilabel"),
    (MULTILABEL | {"ignore_index": -100}, "ignore_index is -100, expected 2 to 255"),
    (MULTILABEL | {"ignore_index": 256}, "ignore_index is 256, expected 2 to 255"),
    (BINARY | {"ignore_index": 2**63}, "ignore_index is 9223372036854775808"),
    (REGRESSION | {"ignore_index": -1}, "ignore_index was given, but the task regression scores every target"),
    (REGRESSION | {"class_names": ["x"]}, "1 class names were given for 2 outputs"),
    (MULTILABEL | {"class_names": ["a", "", "c"]}, "class name 1 is ''"),
]


@pytest.mark.parametrize(("options", "says"), BAD_ARGUMENTS)
def test_bad_arguments(tmp_path: Path, options: dict, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        write(tmp_path / "a.h5", [], **options)
    assert list(tmp_path.iterdir()) == []
