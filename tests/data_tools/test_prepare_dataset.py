# SPDX-License-Identifier: Apache-2.0
"""prepare_dataset: datasets of torch as they are read, in parts that a cut run goes on with, and each foreseeable fault."""

import importlib
import os
import re
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader
from torchvision.transforms import v2

from conftest import NEEDS_PROGRAM, TOOLS, Tool

NAME = "prepare_dataset"
CODE = Path(__file__).with_name("own_datasets.py")
own = importlib.import_module("own_datasets")
IMAGES = ("--dataset", f"{CODE.with_name('plain_datasets.py')}:pillow", "--mean", 0.5, "--std", 0.5)


def read(path: Path) -> dict[str, np.ndarray]:
    """All columns, by name."""
    with h5py.File(path) as file:
        inputs = {name: column[...] for name, column in file["inputs"].items()}
        return inputs | ({"label": file["targets/label"][...]} if "targets" in file else {})


def attributes(path: Path) -> dict[str, object]:
    with h5py.File(path) as file:
        names = {"class_names": list(file["class_names"].asstr())} if "class_names" in file else {}
        return {name: file.attrs[name] for name in ("task", "num_classes", "ignore_index") if name in file.attrs} | names


def stacked(items: list[object]) -> np.ndarray:
    return np.stack([np.asarray(item) for item in items])


@pytest.mark.parametrize("function", ["pillow", "arrays", "tensors", "joined"])
def test_images_are_stored_as_images(function: str, tmp_path: Path, succeed: Tool) -> None:
    done = succeed(NAME, "--dataset", f"{CODE}:{function}", "--output", tmp_path / "a.h5", "--workers", 1)
    dataset = own.pillow() if function != "joined" else own.joined()
    found = read(tmp_path / "a.h5")
    images, labels = zip(*DataLoader(dataset, batch_size=None), strict=True)
    assert np.array_equal(found["image"], stacked(images)) and found["label"].tolist() == list(labels)
    names = {} if function == "joined" else {"class_names": ["cat", "dog", "owl", "yak"]}
    assert attributes(tmp_path / "a.h5") == {"task": b"multiclass", "num_classes": 4 if names else 3, **names}
    assert "gets ImageNet's mean" in done.stdout and ("3 classes, as the largest label is 2" in done.stdout) == (not names)


def test_images_are_resized_as_torchvision_does(tmp_path: Path, succeed: Tool) -> None:
    options = ["--resize", 32, "--crop", 24, "--mean", 0, "--std", 1]
    succeed(NAME, "--dataset", f"{CODE}:pictures", "--output", tmp_path / "a.h5", "--workers", 1, *options)
    transform = v2.Compose([v2.Resize(32), v2.CenterCrop(24)])
    expected = stacked([transform(image) for image, _ in DataLoader(own.pictures(), batch_size=None)])
    assert np.array_equal(read(tmp_path / "a.h5")["image"], expected)
    with h5py.File(tmp_path / "a.h5") as file:
        image = file["inputs/image"].attrs
        assert image["resize"].tolist() == [32, 32] and image["crop"].tolist() == [24, 24] and image["mean"].tolist() == [0] * 3


TENSORS = [
    ("normalised", [], {"image": "float32"}, "multiclass", 3),
    ("normalised", ["--input-name", "x"], {"x": "float32"}, "multiclass", 3),
    ("tokens", [], {"input_ids": "int64", "attention_mask": "uint8"}, "multiclass", 3),
    ("tokens", ["--input-key", "input_ids", "--num-classes", 9], {"input_ids": "int64"}, "multiclass", 9),
    ("tokens", ["--task", "predict"], {"input_ids": "int64", "attention_mask": "uint8"}, "predict", None),
    ("vectors", [], {"features": "float32"}, "regression", 1),
    ("outputs", [], {"features": "float32"}, "regression", 2),
    ("findings", ["--ignore-index", 255], {"a": "float32", "b": "int16"}, "multilabel", 4),
    ("masks", ["--mean", 0, "--std", 1], {"image": "uint8"}, "segmentation", 5),
    ("depths", ["--mean", 0, "--std", 1], {"image": "uint8"}, "regression", 1),
    ("unlabelled", ["--task", "predict", "--mean", 0, "--std", 1], {"image": "uint8"}, "predict", None),
    ("stream", ["--part-rows", 5, "--target-key", "target"], {"x": "float32"}, "multiclass", 3),
]  # fmt: skip


@pytest.mark.parametrize(("function", "options", "inputs", "task", "num_classes"), TENSORS)
def test_values_are_those_of_the_dataset(
    function: str, options: list, inputs: dict[str, str], task: str, num_classes: int | None, tmp_path: Path, succeed: Tool
) -> None:
    path = tmp_path / "a.h5"
    succeed(NAME, "--dataset", f"{CODE}:{function}", "--output", path, "--workers", 1, *options)
    found = read(path)
    label = found.pop("label", None)
    assert {name: values.dtype.name for name, values in found.items()} == inputs
    count = {} if num_classes is None else {"num_classes": num_classes}
    ignored = {"ignore_index": 255} if "--ignore-index" in options else {}
    assert attributes(path) == {"task": task.encode(), **count, **ignored}
    dataset = getattr(own, function)()
    items = list(dataset) if function == "stream" else [dataset[index] for index in range(len(dataset))]
    for name, values in found.items():
        assert np.array_equal(values, stacked([value_of(item, name) for item in items]))
    if label is not None:
        key = "target" if function == "stream" else "labels"
        assert np.array_equal(label, stacked([item[1] if isinstance(item, tuple) else item[key] for item in items]))


def value_of(item: object, name: str) -> object:
    given = item[0] if isinstance(item, tuple) else item
    return given[name] if isinstance(given, dict) else given


@NEEDS_PROGRAM
@pytest.mark.parametrize("function", ["pillow", "tokens", "masks", "findings"])
def test_the_program_reads_them(function: str, tmp_path: Path, succeed: Tool) -> None:
    succeed(NAME, "--dataset", f"{CODE}:{function}", "--output", tmp_path / "a.h5", "--workers", 1)
    command = [os.environ["TALLY_BIN"], "inspect", "--verify", tmp_path / "a.h5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "integrity: checked" in done.stdout


def test_processes_and_parts_do_not_change_a_byte(tmp_path: Path, succeed: Tool) -> None:
    cases = [("--workers", 1), ("--workers", 2, "--part-rows", 4), ("--workers", 1, "--part-rows", 1)]
    for number, options in enumerate(cases):
        succeed(NAME, *IMAGES, "--output", tmp_path / f"{number}.h5", *options)
    first, *others = (path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert len(others) == 2 and all(other == first for other in others)


def test_digits_are_those_of_their_own_tool(tmp_path: Path, succeed: Tool) -> None:
    (tmp_path / "names").write_text("\n".join(map(str, range(10))))
    recipe = ["--channels", "L", "--scale", "1/16", "--mean", 0, "--std", 1, "--class-names", tmp_path / "names"]
    succeed(NAME, "--dataset", f"{CODE}:digit_images", "--output", tmp_path / "a.h5", "--workers", 1, *recipe)
    succeed("prepare_digits", "--output", tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


@pytest.mark.parametrize("function", ["pillow", "stream"])
def test_a_run_that_fails_is_gone_on_with(
    function: str, tmp_path: Path, tool: Tool, succeed: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--dataset", f"{CODE}:{function}", "--part-rows", 5, "--workers", 1]
    succeed(NAME, *options, "--output", tmp_path / "whole.h5")
    again = [*options, "--output", tmp_path / "cut.h5"]
    monkeypatch.setenv("RAISE_AT", "17")
    done = tool(NAME, *again)
    assert done.returncode == 3 and "item 17: the dataset raised RuntimeError: a disk is gone" in done.stderr
    assert f"3 finished parts stay in '{tmp_path / 'cut.h5.parts'}'" in done.stdout
    parts = {path: path.stat().st_mtime_ns for path in (tmp_path / "cut.h5.parts").glob("*.h5")}
    monkeypatch.delenv("RAISE_AT")
    if function == "pillow":  # none of what is there is read once more
        monkeypatch.setenv("RAISE_AT", "7")
    succeed(NAME, *again)
    assert len(parts) == 3 and (tmp_path / "cut.h5").read_bytes() == (tmp_path / "whole.h5").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.h5", "whole.h5"]


def cut(tool: Tool, monkeypatch: pytest.MonkeyPatch, *options: object) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("RAISE_AT", "17")
        assert tool(NAME, *IMAGES, "--part-rows", 5, "--workers", 1, *options).returncode == 3


def test_parts_of_another_command_are_made_anew(
    tmp_path: Path, tool: Tool, succeed: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(tool, monkeypatch, "--output", tmp_path / "a.h5", "--resize", 8)
    done = succeed(NAME, *IMAGES, "--part-rows", 5, "--workers", 1, "--output", tmp_path / "a.h5")
    assert "holds parts of another command (other form): they are made anew" in done.stdout
    succeed(NAME, *IMAGES, "--output", tmp_path / "b.h5", "--workers", 1)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_parts_are_good_for_another_number_of_classes(
    tmp_path: Path, tool: Tool, succeed: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--dataset", f"{CODE}:one_label", "--workers", 1, "--output", tmp_path / "a.h5"]
    done = tool(NAME, *options)
    assert done.returncode == 3 and "the largest label is 0, expected 2 classes or more: give --num-classes" in done.stderr
    monkeypatch.setenv("RAISE_AT", "7")
    succeed(NAME, *options, "--num-classes", 2)
    assert attributes(tmp_path / "a.h5")["num_classes"] == 2


def test_damaged_parts_are_refused(tmp_path: Path, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--output", tmp_path / "a.h5"]
    cut(tool, monkeypatch, *options)
    part = tmp_path / "a.h5.parts" / "00001.h5"
    with h5py.File(part, "r+") as file:
        file["inputs/image"][2, 0, 0, 0] ^= 1
    done = tool(NAME, *IMAGES, "--part-rows", 5, "--workers", 1, *options)
    assert done.returncode == 6 and f"'{part}' is damaged" in done.stderr and not (tmp_path / "a.h5").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, tool: Tool) -> None:
    (tmp_path / "a.h5.parts").mkdir()
    (tmp_path / "a.h5.parts" / "letter.txt").write_text("dear")
    done = tool(NAME, *IMAGES, "--output", tmp_path / "a.h5", "--workers", 1)
    assert done.returncode == 6 and "it is something else" in done.stderr
    assert (tmp_path / "a.h5.parts" / "letter.txt").read_text() == "dear"


def test_texts_are_classes_by_name(tmp_path: Path, succeed: Tool) -> None:
    (tmp_path / "names").write_text("dog\ncat\n")
    options = ["--dataset", f"{CODE}:text_label", "--class-names", tmp_path / "names", "--workers", 1]
    succeed(NAME, *options, "--output", tmp_path / "a.h5")
    assert read(tmp_path / "a.h5")["label"].tolist() == [1 - index % 2 for index in range(own.NUM_ITEMS)]


def test_wide_numbers_are_rounded_if_asked(tmp_path: Path, succeed: Tool) -> None:
    succeed(NAME, "--dataset", f"{CODE}:wide_targets", "--float32", "--output", tmp_path / "a.h5", "--workers", 1)
    label = read(tmp_path / "a.h5")["label"]
    assert label.dtype == np.float32 and label.tolist() == list(range(own.NUM_ITEMS))


def test_random_items_are_noted(tmp_path: Path, succeed: Tool) -> None:
    done = succeed(NAME, "--dataset", f"{CODE}:random", "--output", tmp_path / "a.h5", "--workers", 1)
    assert "the dataset changes its items at random" in done.stdout
    assert "at random" not in succeed(NAME, *IMAGES, "--output", tmp_path / "b.h5", "--workers", 1).stdout


def test_the_example_of_the_documents(tmp_path: Path, succeed: Tool) -> None:
    text = (TOOLS.parent / "docs" / "preparing.md").read_text()
    example, command = re.search(r"```python\n# my_digits.py\n(.*?)```\n\n```sh\n(.*?)\n```", text, re.DOTALL).groups()
    (tmp_path / "my_digits.py").write_text(example)
    succeed(*command.removeprefix('"$TALLY_PYTHON" data_tools/').replace(".py ", " ", 1).split(), "--workers", 1, cwd=tmp_path)
    found = read(tmp_path / "my-digits.h5")
    assert found["image"].shape == (360, 1, 8, 8) and found["image"].dtype == np.float32
    digits = load_digits()
    assert np.array_equal(found["image"][:, 0] * 16, digits.images[1437:])
    assert np.array_equal(found["label"], digits.target[1437:])


FAULTS = [
    ("other_shape", [], 3, "item 17: 'image' is 7x7 (height x width), the first item's is 6x7"),
    ("other_length", [], 3, "item 17: 'features' has the shape [6], the first item's has [5]"),
    ("other_type", [], 3, "item 17: 'features': rows are int64, expected float32"),
    ("other_keys", [], 3, "item 17 has the inputs 'a', 'c', the first item has 'a', 'b'"),
    ("other_kind", [], 3, "item 17: 'image' is a str, expected"),
    ("far_label", [], 3, "/targets/label[17] = 4, expected 0..3"),
    ("negative_label", [], 3, "/targets/label[17] = -1, expected 0.."),
    ("text_label", [], 3, "item 0: the target is the text 'cat', expected a number, or a name of --class-names"),
    ("deep", [], 3, "item 0: the input has more than 8 bits per channel (mode I;16): convert it in the dataset"),
    ("wide_targets", [], 3, "item 0: the target is float64"),
    ("no_label", [], 2, "the target may be any of 'image', 'kind': name it with --target-column"),
    ("no_label", ["--target-key", "klass"], 2, "there is no column 'klass'; the columns are 'image', 'kind'"),
    ("triples", [], 3, "item 0 is a tuple of 3, expected (input, target) or a dict"),
    ("unlabelled", [], 3, "item 0 is a ndarray, expected (input, target) or a dict (without targets: --task predict)"),
    ("texts", [], 3, "item 0: the input is a str, expected numbers, an array, a tensor or an image"),
    ("nothing", [], 3, "has no items"),
    ("once", [], 2, "returned what can be iterated once only"),
    ("number", [], 2, "returned a int, expected a torch Dataset"),
    ("failing", [], 3, "own_datasets.py:failing' failed: RuntimeError: no disk"),
    ("pilow", [], 2, "has no function 'pilow'; it has"),
    ("outputs", ["--task", "multiclass"], 3, "item 0: the target is float32 [2], expected one integer for the task multiclass"),
    ("outputs", ["--num-classes", 3], 2, "--num-classes is 3, but the first item's target has 2"),
    ("pillow", ["--num-classes", 3], 2, "there are 4 class names for 3 classes"),
    ("vectors", ["--resize", 8], 2, "--resize is for images"),
    ("masks", ["--resize", 8], 2, "images of a segmentation cannot be resized here"),
    ("tokens", ["--input-name", "x"], 2, "--input-name is for data sets with one input"),
    ("vectors", ["--ignore-index", 1], 2, "the task regression scores every target"),
    ("vectors", ["--split", "test"], 2, "--split is for Hugging Face's datasets"),
    ("pillow", ["--channels", "L"], 2, "give --mean and --std"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "options", "code", "says"), FAULTS)
def test_faults(function: str, options: list, code: int, says: str, fail: Tool) -> None:
    fail(NAME, "--dataset", f"{CODE}:{function}", "--workers", 1, *options, code=code, says=says)


def test_faults_name_the_place_in_the_dataset(tmp_path: Path, tool: Tool) -> None:
    """Whatever part they are in."""
    for function, says in (("far_label", "/targets/label[17] = 4, expected 0..3"), ("other_shape", "item 17: 'image' is 7x7")):
        options = ["--dataset", f"{CODE}:{function}", "--part-rows", 5, "--workers", 1]
        done = tool(NAME, *options, "--output", tmp_path / f"{function}.h5")
        assert done.returncode == 3 and says in done.stderr


def test_what_is_no_dataset(tmp_path: Path, fail: Tool) -> None:
    (tmp_path / "data.py").write_text("import nosuch")
    (tmp_path / "folder").mkdir()
    for dataset, code, says in (
        (tmp_path / "none", 3, "is neither a file nor a folder, nor a function"),
        (tmp_path / "none.py:make", 2, "does not exist"),
        ("nosuch.package:make", 2, "there is no Python module 'nosuch.package'"),
        (f"{tmp_path / 'data.py'}:make", 2, "cannot be imported: ModuleNotFoundError: No module named 'nosuch'"),
        (CODE, 2, "name a function of"),
    ):
        fail(NAME, "--dataset", dataset, code=code, says=says)


def test_torch_reads_the_same(tmp_path: Path, succeed: Tool) -> None:
    """Batches of a DataLoader over the dataset, and over what was stored, are the same tensors."""
    succeed(NAME, "--dataset", f"{CODE}:normalised", "--output", tmp_path / "a.h5", "--workers", 1)
    found = read(tmp_path / "a.h5")
    images, labels = next(iter(DataLoader(own.normalised(), batch_size=own.NUM_ITEMS)))
    assert torch.equal(torch.from_numpy(found["image"]), images) and torch.equal(torch.from_numpy(found["label"]), labels)
