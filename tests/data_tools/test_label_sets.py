# SPDX-License-Identifier: Apache-2.0
"""Samples with several right classes: DataSetWriter.add_label_sets, and ImageNet's reassessed labels against timm's."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import timm.data
from tally_data import DataError, DataSetWriter, UsageError
from timm.data.real_labels import RealLabelsImagenet

from conftest import Tool
from sample_names import ragged, sample_names
from test_label_sources import VAL
from test_prepare_imagefolder import NAME, make_images

ALL_OF_TIMM = Path(timm.data.__file__).with_name("_info") / "imagenet_real_labels.json"


def writer(path: Path, **more: object) -> DataSetWriter:
    return DataSetWriter(path, **{"task": "multiclass", "num_classes": 9, "num_samples": 3, "ignore_index": -1, **more})


def stored(path: Path) -> tuple[list[list[int]], list[int]]:
    with h5py.File(path) as file:
        assert file["targets/labels/values"].dtype == file["targets/label"].dtype == np.dtype("<i8")
        return [row.tolist() for row in ragged(file, "/targets/labels")], file["targets/label"][...].tolist()


def test_sets_read_back(tmp_path: Path) -> None:
    sets = [[8, 2], [], np.array([0, 1, 3], np.uint8)]
    with writer(tmp_path / "a.h5") as out:
        out.add_input("x", dtype="float32", data=np.zeros(3, np.float32))
        out.add_label_sets(sets)
    assert stored(tmp_path / "a.h5") == ([[8, 2], [], [0, 1, 3]], [8, -1, 0])
    with writer(tmp_path / "b.h5", ignore_index=None, num_samples=1) as out:
        out.add_input("x", dtype="float32", data=np.zeros(1, np.float32))
        out.add_label_sets([[5]])
    assert stored(tmp_path / "b.h5") == ([[5]], [5])


@pytest.mark.parametrize(("sets", "more", "kind", "says"), [
    ([[1], [2]], {}, DataError, "2 rows were given, expected 3"),
    ([[1], [9], []], {}, DataError, r"/targets/labels\[1\] = \[9\], expected classes 0..8"),
    ([[1], [], [3, -1]], {}, DataError, r"/targets/labels\[2\] = \[3, -1\], expected classes"),
    ([[1], [2, 3, 2], []], {}, DataError, r"/targets/labels\[1\] = \[2, 3, 2\], expected a list of different classes"),
    ([[1], [[2]], []], {}, DataError, "expected a list of different classes"),
    ([[1], [0.5], []], {}, DataError, r"/targets/labels\[1\]: rows are float64, expected int64"),
    ([[1], [2], []], {"ignore_index": None}, DataError, r"/targets/labels\[2\] is empty: samples that are not scored need"),
    ([[1], [2], []], {"ignore_index": 4}, UsageError, "ignore_index is 4, which is a class"),
    ([[1], [0], [1]], {"task": "binary", "num_classes": 2}, UsageError, "the task binary has no sets of labels"),
])  # fmt: skip
def test_bad_sets_leave_nothing(tmp_path: Path, sets: list, more: dict, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says), writer(tmp_path / "a.h5", **more) as out:
        out.add_input("x", dtype="float32", data=np.zeros(3, np.float32))
        out.add_label_sets(sets)
    assert list(tmp_path.iterdir()) == []


def test_reassessed_labels_of_imagenet(tmp_path: Path, succeed: Tool) -> None:
    """timm's copy of them, whose first image has none."""
    make_images(tmp_path / "val", [VAL[4], VAL[0], VAL[1], VAL[2]])
    options = ["--input", tmp_path / "val", "--labels", ALL_OF_TIMM, "--output", tmp_path / "a.h5", "--workers", 1]
    done = succeed(NAME, *options)
    assert "ignored 49996 labels that have no image" in done.stdout and "note: 1000 classes" in done.stdout
    names = [f"ILSVRC2012_val_{number:08}.JPEG" for number in range(1, 50_001)]
    theirs = RealLabelsImagenet(names, str(ALL_OF_TIMM)).real_labels
    sets, labels = stored(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        assert sets == [theirs[name.replace(".png", ".JPEG")] for name in sample_names(file)]
        assert file.attrs["ignore_index"] == -1 and file.attrs["num_classes"] == 1000
    assert labels == [row[0] if row else -1 for row in sets] and -1 in labels and max(map(len, sets)) > 1


def test_broken_images_take_their_sets_with_them(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    make_images(tmp_path / "val", VAL[:3])
    (tmp_path / "val" / VAL[1]).write_bytes(b"junk")
    (tmp_path / "real.json").write_text("[[4, 2], [0], []]")
    options = ["--input", tmp_path / "val", "--labels", tmp_path / "real.json", "--skip-broken"]
    succeed(NAME, *options, "--output", tmp_path / "a.h5")
    assert stored(tmp_path / "a.h5") == ([[4, 2], []], [4, -1])
    fail(NAME, *options, "--num-classes", 4, code=3, says="the largest label is 4, expected 0..3")


@pytest.mark.parametrize(("content", "says"), [
    ({}, "expected a list of lists of classes"),
    ([], "expected a list of lists of classes"),
    ([[1], 2, [3]], "[1] is not a list of different classes"),
    ([[1], [2], [-3]], "[2] is not a list of different classes"),
    ([[1], [True], [3]], "[1] is not a list of different classes"),
    ([[1], [2, 2], [3]], "[1] is not a list of different classes"),
    ([[1], [2]], f"image '{VAL[2]}' is none of the 2 of"),
])  # fmt: skip
def test_other_json(tmp_path: Path, fail: Tool, content: object, says: str) -> None:
    make_images(tmp_path / "val", VAL[:3])
    (tmp_path / "real.json").write_text(json.dumps(content))
    fail(NAME, "--input", tmp_path / "val", "--labels", tmp_path / "real.json", code=3, says=says)
