# SPDX-License-Identifier: Apache-2.0
"""prepare_imagefolder --multilabel: columns and lists of labels, against scikit-learn, and what is refused."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

from conftest import Tool
from sample_names import sample_names
from test_prepare_imagefolder import NAME, make_images

IMAGES = ["a.png", "b.png", "x/c.png"]
CLASSES = ["cat", "dog", "big owl"]


@pytest.fixture
def words(tmp_path: Path) -> list[object]:
    make_images(tmp_path / "set", IMAGES)
    (tmp_path / "names").write_text("\n".join(CLASSES))
    return ["--input", tmp_path / "set", "--multilabel", "--labels", tmp_path / "labels.csv", "--workers", 1]


def write(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.csv").write_text(text)


def read(path: Path) -> tuple[list[list[int]], list[str], int | None]:
    with h5py.File(path) as file:
        assert file.attrs["task"] == b"multilabel" and file["targets/label"].dtype == np.uint8
        assert sample_names(file) == IMAGES and file["inputs/image"].shape == (3, 5, 6, 3)
        return file["targets/label"][...].tolist(), list(file["class_names"].asstr()), file.attrs.get("ignore_index")


def test_columns(tmp_path: Path, succeed: Tool, words: list[object]) -> None:
    write(tmp_path, "image,cat,dog,big owl\nb.png,0,1,0\na.png,1,1,0\nval/x/c.png,0,0,0\nzz.png,1,1,1\n")
    done = succeed(NAME, *words, "--output", tmp_path / "a.h5")
    assert read(tmp_path / "a.h5") == ([[1, 1, 0], [0, 1, 0], [0, 0, 0]], CLASSES, None)
    said = done.stdout.splitlines()
    assert said[0] == "ignored 1 labels that have no image" and not any("unknown" in line for line in said)
    assert said[-1].startswith(f"wrote {tmp_path / 'a.h5'}: 3 images 5x6 RGB, 3 labels, ")


def test_labels_that_are_not_known(tmp_path: Path, succeed: Tool, words: list[object]) -> None:
    """As in CheXpert: numbers with a point, -1 and empty cells, columns that are no classes, other order."""
    write(tmp_path, 'Path,Sex,dog,big owl,cat\n"a.png",Male,1.0,-1.0,\nb.png,Female,0.0,-1,u\nc.png,,True,1,FALSE\n')
    options = ["--class-names", tmp_path / "names", "--ignore-value", "U"]
    done = succeed(NAME, *words, *options, "--output", tmp_path / "a.h5")
    assert read(tmp_path / "a.h5") == ([[255, 1, 255], [255, 0, 255], [0, 1, 1]], CLASSES, 255)
    assert "note: 4 of 9 labels are unknown and are not scored\n" in done.stdout
    write(tmp_path, "name,a\na.png,1\nb.png,2.00\nc.png,0\n")
    succeed(NAME, *words, "--ignore-value", "2", "--output", tmp_path / "b.h5")
    assert read(tmp_path / "b.h5") == ([[1], [255], [0]], ["a"], 255)


@pytest.mark.parametrize("first_line", ["", "image_name,tags\n"])
@pytest.mark.parametrize("separator", ["|", ";", " | ", ", "])
def test_lists(tmp_path: Path, succeed: Tool, words: list[object], separator: str, first_line: str) -> None:
    lists = [["dog", "big owl"], ["big owl"], []]
    write(tmp_path, first_line + "".join(f'{name},"{separator.join(one)}"\n' for name, one in zip(IMAGES, lists, strict=True)))
    succeed(NAME, *words, "--class-names", tmp_path / "names", "--output", tmp_path / "a.h5")
    expected = MultiLabelBinarizer(classes=CLASSES).fit_transform(lists)
    assert read(tmp_path / "a.h5") == (expected.tolist(), CLASSES, None)


def test_lists_with_blanks_numbers_and_more_columns(tmp_path: Path, succeed: Tool, words: list[object]) -> None:
    write(tmp_path, "Image Index,Finding Labels,Age\na.png,dog cat dog,7\nb.png,big owl,\nc.png,0 2,8\n")
    succeed(NAME, *words, "--class-names", tmp_path / "names", "--output", tmp_path / "a.h5")
    expected = MultiLabelBinarizer(classes=[0, 1, 2]).fit_transform([[0, 1], [2], [0, 2]])
    assert read(tmp_path / "a.h5")[0] == expected.tolist()


def test_as_pandas_writes_it(tmp_path: Path, succeed: Tool, words: list[object]) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pandas.DataFrame([[1, 0, None], [0, None, 1], [1, 1, 0]], index=IMAGES, columns=CLASSES)
    table.to_csv(tmp_path / "labels.csv")
    succeed(NAME, *words, "--output", tmp_path / "a.h5")
    assert read(tmp_path / "a.h5") == (table.fillna(255).astype(int).to_numpy().tolist(), CLASSES, 255)


@pytest.mark.parametrize(("text", "says"), [
    ("i,cat,dog\na.png,1,x\n", "line 2: column 3 ('dog'): 'x' is not 0 or 1, nor empty, -1 or --ignore-value"),
    ("i,cat\n\na.png,2\n", "line 3: column 2 ('cat'): '2' is not 0 or 1"),
    ("i,cat\na.png,nan\n", "line 2: column 2 ('cat'): 'nan' is not 0 or 1"),
    ("i,cat\na.png,1,0\n", "line 2: has 3 columns, expected 2, as the first line has"),
    ("i,cat\n,1\n", "line 2: column 1 is empty, expected the name of an image"),
    ("i,cat\na.png,1\na.png,0\n", "line 3: 'a.png' has other labels than in a line before"),
    ("i,cat,cat\na.png,1,0\n", "line 1: has 2 columns that are called 'cat', expected names, each once"),
    ("i,cat,\na.png,1,0\n", "line 1: has 1 columns that are called '', expected names"),
    ("a.png\nb.png\n", "line 1: has 1 column, expected a header"),
    ("i,cat\n", "holds no image, only its first line"),
    ('i,cat\na.png,"1\n', "line 2: is no csv: unexpected end of data"),
    ("i,cat\nb.png,1\n", "image 'a.png' has no label in"),
])  # fmt: skip
def test_bad_columns(tmp_path: Path, fail: Tool, words: list[object], text: str, says: str) -> None:
    write(tmp_path, text)
    fail(NAME, *words, code=3, says=says)


@pytest.mark.parametrize(("text", "says"), [
    ("a.png,dog|bird\nb.png,dog\n", "image 'a.png' has no label in"),  # the first line is then taken for a header
    ("a.png,dog\nb.png,dog|bird\n", "line 2: column 2: 'bird' is neither one of the 3 names of --class-names nor their number"),
    ("a.png,dog\nb.png,3\n", "line 2: column 2: '3' is neither"),
    ("a.png,dog\nb.png,cat,dog\n", "line 2: has 3 columns, expected 2; a list of labels stands in quotes"),
    ("i,tags,more\na.png,cat\n", "line 2: has 2 columns, expected 3"),
])  # fmt: skip
def test_bad_lists(tmp_path: Path, fail: Tool, words: list[object], text: str, says: str) -> None:
    write(tmp_path, text)
    fail(NAME, *words, "--class-names", tmp_path / "names", code=3, says=says)


def test_options_that_do_not_fit(tmp_path: Path, fail: Tool, words: list[object]) -> None:
    write(tmp_path, "i,cat\na.png,1\nb.png,0\nc.png,1\n")
    fail(NAME, *words, "--num-classes", 2, code=2, says="there are 1 class names for 2 classes")
    for value in ("1", "0.0", "True", ""):
        fail(NAME, *words, f"--ignore-value={value}", code=2, says=f"'{value}' says whether an image has the label")
    fail(NAME, "--input", tmp_path, "--multilabel", code=2, says="--multilabel needs --labels FILE")
    fail(NAME, "--input", tmp_path, "--multilabel", "--labels", tmp_path, code=2, says="--multilabel needs --labels FILE")
    fail(NAME, "--input", tmp_path, "--ignore-value", "9", code=2, says="--ignore-value is for --multilabel")


def test_broken_images_take_their_labels_with_them(tmp_path: Path, succeed: Tool, words: list[object]) -> None:
    write(tmp_path, "i,cat,dog\na.png,1,0\nb.png,0,1\nc.png,1,1\n")
    (tmp_path / "set" / "b.png").write_bytes(b"junk")
    succeed(NAME, *words, "--skip-broken", "--output", tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["targets/label"][...].tolist() == [[1, 0], [1, 1]]
