# SPDX-License-Identifier: Apache-2.0
"""prepare_imagefolder: order, labels, tars, parallel decoding, and each foreseeable fault."""

import gzip
import os
import tarfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from torchvision import datasets

from conftest import Tool
from sample_names import sample_names

NAME = "prepare_imagefolder"
NAMES = ["b/x 1.png", "b/sub/z.png", "a b/c.png", "a/w.png", "b/y.png", "a/deep/q.png"]


def make_images(root: Path, names: list[str], size: tuple[int, int] = (6, 5)) -> dict[str, np.ndarray]:
    made = {}
    for number, name in enumerate(names):
        made[name] = np.random.default_rng(number).integers(0, 256, (size[1], size[0], 3), np.uint8)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(made[name]).save(root / name)
    return made


def read(path: Path) -> tuple[np.ndarray, list[int], list[str] | None]:
    with h5py.File(path) as file:
        names = list(file["class_names"].asstr()) if "class_names" in file else None
        return file["inputs/image"][...], file["targets/label"][...].tolist(), names


def test_class_folders_as_torchvision(tmp_path: Path, succeed: Tool) -> None:
    root = tmp_path / "set"
    make_images(root, NAMES)
    (root / "b" / "notes.txt").write_text("no image")
    reference = datasets.ImageFolder(root)
    out = tmp_path / "a.h5"
    done = succeed(NAME, "--input", root, "--output", out, "--workers", 2)
    assert "6 images 5x6 RGB, 3 classes" in done.stdout
    images, labels, names = read(out)
    assert names == reference.classes and labels == reference.targets
    assert np.array_equal(images, np.stack([np.asarray(image) for image, _ in reference]))
    with h5py.File(out) as file:
        assert sample_names(file) == [str(Path(path).relative_to(root)) for path, _ in reference.samples]
    with tarfile.open(tmp_path / "set.tar", "w") as archive:
        archive.add(root, "val")
    succeed(NAME, "--input", tmp_path / "set.tar", "--output", tmp_path / "b.h5", "--workers", 1)
    assert (tmp_path / "b.h5").read_bytes() == out.read_bytes()


def test_names_that_cannot_be_stored_are_escaped(tmp_path: Path, succeed: Tool) -> None:
    make_images(tmp_path / "set", ["a/1.png", "a/ü\n.png", "b/2.png"])
    os.rename(tmp_path / "set" / "b" / "2.png", os.fsencode(tmp_path / "set" / "b") + b"/\xff\x7f.png")
    succeed(NAME, "--input", tmp_path / "set", "--output", tmp_path / "a.h5", "--workers", 1)
    with h5py.File(tmp_path / "a.h5") as file:
        assert sample_names(file) == ["a/1.png", r"a/ü\x0a.png", r"b/\xff\x7f.png"]


def test_how_images_were_made_is_kept(tmp_path: Path, succeed: Tool) -> None:
    root = tmp_path / "set"
    make_images(root, NAMES)
    cases: list[tuple[list[object], dict[str, object]]] = [
        ([], {}),
        (["--crop", 4], {"crop": [4, 4], "crop_mode": b"center"}),
        (["--resize", 9, "--crop", 8, "--interpolation", "bicubic"],
         {"resize": [9, 9], "crop": [8, 8], "crop_mode": b"center", "interpolation": b"bicubic"}),
    ]  # fmt: skip
    for number, (options, expected) in enumerate(cases):
        out = tmp_path / f"{number}.h5"
        succeed(NAME, "--input", root, "--output", out, "--workers", 1, *options)
        with h5py.File(out) as file:
            attributes = file["inputs/image"].attrs
            found = {name: attributes[name] for name in ("resize", "crop", "crop_mode", "interpolation") if name in attributes}
            for name in found.keys() & {"crop_mode", "interpolation"}:
                assert not attributes.get_id(name).get_type().is_variable_str()
        assert {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()} == expected


LABEL_FILES = {
    "blank": "c.png 2\nx 1.png 1\nz.png 0\nw.png 4\ny.png 3\nq.png 1\nother.png 6\n",
    "comma": "./b/x 1.png, 1\n./b/sub/z.png, 0\n./a b/c.png, 2\n./a/w.png, 4\ny.png, 3\n./a/deep/q.png, 1\nq.jpg, 6",
    "csv": 'file,label\r\n"c",2\r\nx 1,1\r\nb/sub/z,0\r\nw,4\r\ny,3\r\nq,1\r\nother,6\r\n',
}


@pytest.mark.parametrize("form", LABEL_FILES)
def test_label_files(tmp_path: Path, succeed: Tool, form: str) -> None:
    root, labels_path = tmp_path / "set", tmp_path / "labels"
    made = make_images(root, NAMES)
    labels_path.write_bytes(LABEL_FILES[form].encode())
    done = succeed(
        NAME, "--input", root, "--labels", labels_path, "--output", tmp_path / "a.h5", "--workers", 1
    )
    said = done.stdout.splitlines()
    assert said[:2] == [
        "ignored 1 labels that have no image",
        "note: 7 classes, as the largest label is 6; give --num-classes if there are more",
    ]
    assert said[2].startswith("note: the data set gets ImageNet's mean and std")
    images, labels, names = read(tmp_path / "a.h5")
    order = ["a/w.png", "a/deep/q.png", "a b/c.png", "b/x 1.png", "b/y.png", "b/sub/z.png"]
    assert names is None and labels == [4, 1, 2, 1, 3, 0]
    assert np.array_equal(images, np.stack([made[name] for name in order]))
    with h5py.File(tmp_path / "a.h5") as file:
        assert file.attrs["num_classes"] == 7


def test_options_of_the_recipe(tmp_path: Path, succeed: Tool) -> None:
    root = tmp_path / "set"
    made = make_images(root, ["a/1.png", "b/2.png"])
    (tmp_path / "names").write_text("A\nB\n")
    options = [
        "--channels",
        "BGR",
        "--scale",
        "1",
        "--mean",
        "104,117,123",
        "--std",
        "1",
        "--class-names",
        tmp_path / "names",
    ]
    done = succeed(NAME, "--input", root, "--output", tmp_path / "a.h5", *options)
    images, labels, names = read(tmp_path / "a.h5")
    assert labels == [0, 1] and names == ["A", "B"] and "note" not in done.stdout
    assert np.array_equal(images[0], made["a/1.png"][..., ::-1])
    with h5py.File(tmp_path / "a.h5") as file:
        attributes = file["inputs/image"].attrs
        assert attributes["channels"] == b"BGR" and attributes["scale"] == 1.0
        assert attributes["mean"].tolist() == [104, 117, 123] and attributes["std"].tolist() == [1, 1, 1]


def test_defaults_follow_the_channel_order(tmp_path: Path, succeed: Tool) -> None:
    make_images(tmp_path / "set", ["a/1.png", "b/2.png"])
    succeed(NAME, "--input", tmp_path / "set", "--output", tmp_path / "a.h5", "--channels", "BGR")
    with h5py.File(tmp_path / "a.h5") as file:
        attributes = file["inputs/image"].attrs
        assert attributes["mean"].tolist() == [0.406, 0.456, 0.485] and attributes["scale"] == 1 / 255


def test_label_faults(tmp_path: Path, fail: Tool) -> None:
    root, labels = tmp_path / "set", tmp_path / "labels"
    make_images(root, ["a/1.png", "b/1.png", "b/2.png"])

    def refuse(text: str, says: str) -> None:
        labels.write_text(text)
        fail(NAME, "--input", root, "--labels", labels, code=3, says=says)

    refuse("a/1.png 0\nb/1.png 1\n", "image 'b/2.png' has no label")
    refuse("1.png 0\n2.png 1\n", "'1.png' in")
    refuse("a/1.png 0\na/1.png 1\n", "line 2: 'a/1.png' has the labels 0 and 1")
    refuse("a/1.png 0\nb/1.png x\n", "line 2: 'b/1.png x' is not a name and a label")
    refuse("a/1.png 0\nb/1.png -1\n", "line 2")
    refuse("\n", "holds no label")
    refuse("a/1.png 0\nb/1.png 0\nb/2.png 0", "images of 1 class")
    fail(NAME, "--input", root, "--labels", tmp_path / "none", code=3, says="does not exist")
    labels.write_text("a/1.png 0\nb/1.png 1\nb/2.png 5")
    fail(
        NAME,
        "--input",
        root,
        "--labels",
        labels,
        "--num-classes",
        3,
        code=3,
        says="largest label is 5, expected 0..2",
    )


def test_input_faults(tmp_path: Path, fail: Tool) -> None:
    root = tmp_path / "set"
    make_images(root, ["a/1.png", "b/2.png"])
    fail(NAME, "--input", tmp_path / "none", code=3, says="does not exist")
    (tmp_path / "text").write_text("x" * 2000)
    fail(NAME, "--input", tmp_path / "text", code=3, says="neither a folder nor a tar or zip file")
    with tarfile.open(tmp_path / "set.tar", "w") as archive:
        archive.add(root, ".")
    packed = gzip.compress((tmp_path / "set.tar").read_bytes())
    (tmp_path / "set.tar.gz").write_bytes(packed)
    fail(NAME, "--input", tmp_path / "set.tar.gz", code=3, says="compressed tar")
    (tmp_path / "empty").mkdir()
    fail(NAME, "--input", tmp_path / "empty", code=3, says="holds no image file")
    Image.new("RGB", (7, 5)).save(root / "b" / "3.png")
    fail(
        NAME,
        "--input",
        root,
        code=3,
        says="'b/3.png' is 5x7 (height x width), 'a/1.png' is 5x6; all must have one size",
    )
    (root / "b" / "3.png").write_bytes(b"junk")
    fail(NAME, "--input", root, "--workers", 2, code=3, says="image 'b/3.png' cannot be decoded")
    (root / "b" / "3.png").unlink()
    Image.new("RGB", (6, 5)).save(root / "top.png")
    fail(NAME, "--input", root, code=3, says="'top.png' has no label")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--resize", "0"], "--resize"),
        (["--mean", "1,2"], "mean has 2 values"),
        (["--std", "0"], "std has the value 0"),
        (["--scale", "1/0"], "not a number"),
        (["--channels", "L"], "give --mean and --std"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_usage_faults(tmp_path: Path, fail: Tool, options: list[str], says: str) -> None:
    fail(NAME, "--input", tmp_path, *options, code=2, says=says)
