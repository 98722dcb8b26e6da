# SPDX-License-Identifier: Apache-2.0
"""Which line of a label file is an image's, and what is said where none is."""

from pathlib import Path

import pytest
from tally_data.errors import DataError
from tally_data.image_files import list_images
from tally_data.label_file import LabelFile

from conftest import Tool
from test_prepare_imagefolder import NAME, make_images, read


def matched(tmp_path: Path, images: list[str], names: list[str]) -> list[str]:
    make_images(tmp_path / "set", images)
    (tmp_path / "labels").write_text("".join(f"{name} 1\n" for name in names))
    return LabelFile(tmp_path / "labels").match(list_images(tmp_path / "set"), names)


@pytest.mark.parametrize(("image", "names", "expected"), [
    ("a/b.png", ["b.png", "a/b.png", "val/a/b.png"], "a/b.png"),
    ("a/b.png", ["val/a/b.png", "b.png"], "b.png"),  # the end of the path comes before what is longer than it
    ("b.png", ["val/a/b.png", "val/a/ab.png"], "val/a/b.png"),
    ("a/b.png", ["x/y/a/b.png", "x/c/b.png"], "x/y/a/b.png"),
    ("a/b.png", ["val/a/b", "b"], "b"),
    ("b.png", ["val/b", "val/b.jpg"], "val/b"),
    ("b.png", ["val/b", "val/b.png"], "val/b.png"),  # with the extension comes first
    ("a/b.png", ["val/a/b.png", "b"], "b"),
])  # fmt: skip
def test_names_are_ends_of_paths_or_longer(tmp_path: Path, image: str, names: list[str], expected: str) -> None:
    assert matched(tmp_path, [image], names) == [expected]


@pytest.mark.parametrize(("images", "names", "says"), [
    (["b.png"], ["train/b.png", "val/b.png"],
     "image 'b.png' fits two names in .*, 'train/b.png' and 'val/b.png'; give --input a folder further up"),
    (["b.png", "a/b.png"], ["val/b.png", "val/c/b.png"], "'b.png' fits two names"),
    (["a/b.png", "c/b.png"], ["b.png"], "'b.png' in .* fits two images, 'a/b.png' and 'c/b.png'; write their paths"),
    (["a/b.png"], ["val/b.png", "val/a/c.png"],
     "image 'a/b.png' has no label in '.*/labels'; each image needs .*, the first line of the file is 'val/b.png 1'$"),
    (["b.png", "c.png", "d.png"], ["val/b.png"], "image 'c.png' has no label in .*, nor have 1 others of 3; each"),
    (["b.png"], ["x" * 200], f"the first line of the file is '{'x' * 100}…'$"),
])  # fmt: skip
def test_what_does_not_fit(tmp_path: Path, images: list[str], names: list[str], says: str) -> None:
    with pytest.raises(DataError, match=says):
        matched(tmp_path, images, names)


def test_paths_that_begin_a_folder_further_up(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    make_images(tmp_path / "val", ["1.png", "2.png"])
    labels = tmp_path / "val.txt"
    labels.write_text("val/2.png,0\nval/1.png,1\ntrain/3.png,5\n")
    succeed(NAME, "--input", tmp_path / "val", "--labels", labels, "--output", tmp_path / "a.h5", "--workers", 1)
    assert read(tmp_path / "a.h5")[1] == [1, 0]
    labels.write_text("ILSVRC/2.JPEG,0\n")
    says = "image '1.png' has no label in"
    done = fail(NAME, "--input", tmp_path / "val", "--labels", labels, code=3, says=says)
    assert "the first line of the file is 'ILSVRC/2.JPEG,0'" in done.stderr
