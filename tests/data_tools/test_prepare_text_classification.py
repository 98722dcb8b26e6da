# SPDX-License-Identifier: Apache-2.0
"""prepare_text_classification: forms of files, labels and their classes by task, the layout, and each refusal."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from ragged import texts
from token_sets import write_lines
from tokenizer_folders import save_tokenizer_folder

from conftest import Tool

NAME = "prepare_text_classification"
TEXTS = ["a cat", 'the "quick" fox', "not good, but not awful", "a dog"]
NLI = ["contradiction", "neutral", "entailment"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a model of NLI, with its tokenizer."""
    folder = save_tokenizer_folder(tmp_path_factory.mktemp("bert"), "bert")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "id2label": dict(enumerate(NLI))}))
    return folder


def labelled_table(pyarrow: Any, names: list[str], labels: list[int]) -> Any:
    """TEXTS, as datasets keeps them where it knows the names of the labels."""
    features = json.dumps({"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}})
    schema = pyarrow.schema({"text": pyarrow.string(), "label": pyarrow.int64()}).with_metadata({"huggingface": features})
    return pyarrow.table({"text": TEXTS, "label": labels}, schema=schema)


class Written:
    """What the tool wrote, and said."""

    def __init__(self, path: Path, printed: str) -> None:
        self.printed = printed
        with h5py.File(path) as file:
            self.attributes = {name: value.item() for name, value in file.attrs.items()}
            self.label = file["targets/label"][...]
            self.ids = file["inputs/input_ids"][...]
            self.names = [name.decode() for name in file["class_names"]] if "class_names" in file else None


Write = Callable[..., Written]


@pytest.fixture
def write(tmp_path: Path, succeed: Tool, folder: Path) -> Write:
    """write(source, *options) -> Written; source: a path, or labels for TEXTS."""

    def run(source: Path | list[Any], *options: object) -> Written:
        if isinstance(source, list):
            values = [{"text": text, "label": label} for text, label in zip(TEXTS, source, strict=False)]
            source = write_lines(tmp_path / "in.jsonl", values)
        words = ["--input", source, "--output", tmp_path / "x.h5", "--overwrite", *options]
        if "--like" not in options:
            words += ["--tokenizer", folder]
        return Written(tmp_path / "x.h5", succeed(NAME, *words).stdout)

    return run


def test_layout(tmp_path: Path, write: Write) -> None:
    write([0, 2, -1, 1], "--max-length", 6)
    with h5py.File(tmp_path / "x.h5") as file:
        assert dict(file.attrs) == {"tally_schema": 1, "task": b"multiclass", "num_classes": 3, "ignore_index": -1}
        expected = {
            "inputs/input_ids": ("<i4", (4, 6), 0), "inputs/attention_mask": ("|u1", (4, 6), 0),
            "inputs/token_type_ids": ("|u1", (4, 6), 0), "lengths": ("<i4", (4,), None), "targets/label": ("<i8", (4,), None),
        }  # fmt: skip
        for name, (dtype, shape, padding) in expected.items():
            dataset = file[name]
            assert (dataset.dtype.str, dataset.shape, dataset.attrs.get("padding")) == (dtype, shape, padding), name
            assert f"checksums/{name}" in file
        assert set(file) == {"inputs", "lengths", "targets", "samples", "checksums"}


def test_names_of_samples(tmp_path: Path, write: Write, fail: Tool, folder: Path) -> None:
    rows = [{"text": "a", "label": 0, "idx": 7, "key": "é\n"}, {"text": "b", "label": 1, "idx": "x", "key": 3}]
    source = write_lines(tmp_path / "in.jsonl", rows)
    for options, expected in (((), ["7", "x"]), (("--id-field", "key"), ["é\\x0a", "3"])):
        write(source, *options)
        with h5py.File(tmp_path / "x.h5") as file:
            assert texts(file["samples/name"]) == expected
    write([0, 1])
    with h5py.File(tmp_path / "x.h5") as file:
        assert texts(file["samples/name"]) == ["line 1", "line 2"]
    words = ["--input", write_lines(source, rows), "--tokenizer", folder, "--id-field"]
    fail(NAME, *words, "no", code=2, says="line 1, has no field 'no'")


def test_fields_without_a_header(tmp_path: Path, write: Write) -> None:
    """As CoLA has them."""
    (tmp_path / "a.tsv").write_text("gj04\t1\t*\ta cat\ngj05\t0\t\ta dog\n")
    assert write(tmp_path / "a.tsv", "--no-header", "--text-fields", "4", "--label-field", "2").label.tolist() == [1, 0]


def test_names_that_the_data_set_has(tmp_path: Path, write: Write, folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    names = ["neutral", "entailment", "contradiction"]
    pyarrow.parquet.write_table(labelled_table(pyarrow, names, [0, 1, 2, -1]), tmp_path / "a.parquet")
    found = write(tmp_path / "a.parquet")
    assert found.label.tolist() == [0, 1, 2, -1] and found.names == names
    assert "classes in the order of the data set: 0 neutral, 1 entailment" in found.printed
    found = write(tmp_path / "a.parquet", "--like", f"hf:{folder}")
    assert found.label.tolist() == [1, 2, 0, -1] and found.names == NLI and "renumbered by name" in found.printed


@pytest.mark.parametrize(("names", "says"), [
    (["yes", "no", "maybe"], "the data set has the classes 0 yes, 1 no, 2 maybe, but '"),
    (["neutral", "entailment"], "the data set has the classes 0 neutral, 1 entailment, but '"),
])  # fmt: skip
def test_names_that_do_not_fit(
    tmp_path: Path, write: Write, fail: Tool, folder: Path, names: list[str], says: str
) -> None:
    """A file may give titles for others' names; a model's names must be those of the data set."""
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    source = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(labelled_table(pyarrow, names, [0, 1, 1, -1]), source)
    fail(NAME, "--input", source, "--tokenizer", folder, "--like", f"hf:{folder}", code=3, says=says)
    (tmp_path / "names").write_text("\n".join(name.title() + "!" for name in names))
    assert write(source, "--class-names", tmp_path / "names").label.tolist() == [0, 1, 1, -1]


@pytest.mark.parametrize(("labels", "expected"), [
    ([0, 1, 2, 1], [0, 1, 2, 1]),
    (["0", "1", "-1", "1.0"], [0, 1, -1, 1]),
    ([2.0, True, None, "1"], [2, 1, -1, 1]),
    (["b", "a", "-", "c"], [1, 0, -1, 2]),
    (["b", "a", "", "a"], [1, 0, -1, 0]),
])  # fmt: skip
def test_classes(write: Write, labels: list[Any], expected: list[int]) -> None:
    found = write(labels)
    assert found.label.tolist() == expected and found.label.dtype == np.int64
    assert found.attributes["num_classes"] == max(expected) + 1
    assert found.attributes.get("ignore_index") == (-1 if -1 in expected else None)
    if isinstance(labels[0], str) and labels[0].isalpha():
        assert found.names == ["a", "b", "c"][: max(expected) + 1]
        assert "note: classes sorted by name, as nothing says their order (--class-names, --like): 0 a, 1 b" in found.printed
    else:
        assert found.names is None and "classes without names, by the largest label" in found.printed
    assert ("rows have no label and are not scored" in found.printed) == (-1 in expected)


@pytest.mark.parametrize("labels", [["Entailment", "neutral", "-", "contradiction"], [2, 1, -1, 0], ["2", "1", "-1", "0"]])
def test_classes_of_a_model(tmp_path: Path, write: Write, folder: Path, labels: list[Any]) -> None:
    (tmp_path / "names").write_text("\n".join(NLI))
    for option in (("--like", f"hf:{folder}"), ("--class-names", tmp_path / "names")):
        found = write(labels, *option)
        assert found.label.tolist() == [2, 1, -1, 0] and found.names == NLI
        assert "classes in the order of '" in found.printed and "0 contradiction, 1 neutral, 2 entailment" in found.printed
        assert ("labels are numbers without names, and are taken for those of" in found.printed) == ("neutral" not in labels)


def test_model_without_names(tmp_path: Path, write: Write, folder: Path, fail: Tool) -> None:
    """Its config.json has the names that transformers makes up, or none."""
    plain = tmp_path / "plain"
    save_tokenizer_folder(plain, "bert")
    names = {str(number): f"LABEL_{number}" for number in range(5)}
    (plain / "config.json").write_text(json.dumps({"model_type": "bert", "id2label": names}))
    found = write([0, 1, 2, 1], "--like", f"hf:{plain}")
    assert found.names is None and found.attributes["num_classes"] == 5
    assert "5 classes without names, by the model" in found.printed
    source = write_lines(tmp_path / "n.jsonl", [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}])
    fail(NAME, "--input", source, "--like", f"hf:{plain}", code=3, says="labels have 2 names, ")
    (plain / "config.json").write_text('{"model_type": "bert"}')
    assert write(["x", "y", "x", "x"], "--like", f"hf:{plain}").names == ["x", "y"]


def test_numbers_that_are_names(tmp_path: Path, write: Write) -> None:
    (tmp_path / "names").write_text("5\n3\n1\n")
    assert write(["3", "1", "5", "1"], "--class-names", tmp_path / "names").label.tolist() == [1, 2, 0, 2]


def test_binary(write: Write, fail: Tool, tmp_path: Path, folder: Path) -> None:
    found = write(["no", "yes", None, "no"], "--task", "binary")
    assert found.label.tolist() == [0, 1, -1, 0] and found.names == ["no", "yes"] and found.attributes["task"] == b"binary"
    assert write([0, 0, 0, 0], "--task", "binary").attributes["num_classes"] == 2
    words = ["--input", tmp_path / "in.jsonl", "--tokenizer", folder, "--task", "binary"]
    fail(NAME, *words, "--like", f"hf:{folder}", code=2, says="there are 3 classes, expected 2 for --task binary")


@pytest.mark.parametrize("as_text", [False, True])
def test_multilabel_by_lists(write: Write, as_text: bool, tmp_path: Path) -> None:
    labels: list[Any] = [["b"], [], ["a", "c"], None]
    if as_text:
        labels = [label and ",".join(label) for label in labels]
        labels[1] = ""
    found = write(labels, "--task", "multilabel")
    assert found.label.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 1], [255] * 3] and found.label.dtype == np.uint8
    assert found.names == ["a", "b", "c"] and found.attributes["ignore_index"] == 255
    numbers = [[1], [], [0, 2], [2]]
    found = write(numbers, "--task", "multilabel")
    assert found.label.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 1]] and found.names is None


def test_multilabel_by_flags(tmp_path: Path, write: Write) -> None:
    flags = [[0, 1], [1, 1], [-1, 0], [0, 0]]
    found = write(flags, "--task", "multilabel", "--label-flags")
    assert found.label.tolist() == [[0, 1], [1, 1], [255, 0], [0, 0]] and found.names is None
    (tmp_path / "a.csv").write_text("text,rude,loud\n" + "".join(f"a,{one},{two}\n" for one, two in flags))
    found = write(tmp_path / "a.csv", "--task", "multilabel", "--label-field", "rude,loud")
    assert found.label.tolist() == [[0, 1], [1, 1], [255, 0], [0, 0]] and found.names == ["rude", "loud"]


def test_fields_in_the_order_of_the_model(tmp_path: Path, write: Write, fail: Tool, folder: Path) -> None:
    (tmp_path / "a.csv").write_text("text,neutral,Entailment,contradiction,other\na,1,0,-1,0\n")
    words = ["--task", "multilabel", "--like", f"hf:{folder}", "--label-field"]
    found = write(tmp_path / "a.csv", *words, "neutral,Entailment,contradiction")
    assert found.label.tolist() == [[255, 1, 0]] and found.names == NLI
    words = ["--input", tmp_path / "a.csv", "--tokenizer", folder, *words]
    fail(NAME, *words, "neutral,Entailment,other", code=3, says="the data set has the classes 0 neutral, 1 Entailment, 2 other")
    fail(NAME, *words, "neutral,Entailment", code=3, says="config.json' has 3")


def test_regression(tmp_path: Path, write: Write) -> None:
    found = write([2.5, -1, "3.1", 0], "--task", "regression")
    assert found.label.dtype == np.float32 and found.label.tolist() == np.float32([2.5, -1, 3.1, 0]).tolist()
    assert found.attributes["num_classes"] == 1 and "ignore_index" not in found.attributes
    (tmp_path / "a.csv").write_text("text,x,y\na,1,2\nb,0.5,4\n")
    found = write(tmp_path / "a.csv", "--task", "regression", "--label-field", "x,y")
    assert found.label.tolist() == [[1, 2], [0.5, 4]] and found.names == ["x", "y"]


def one(**values: Any) -> dict[str, Any]:
    return {"text": "a", "label": 0} | values


FORM = "is not in the form of labelled texts: line 2 has"
BAD_ROWS: list[tuple[list[Any], tuple[str, ...], int, str]] = [
    ([one(), one(text=3)], (), 3, f"{FORM} no 'text' that is text"),
    ([one(), one(text="\ud83d")], (), 3, f"{FORM} a 'text' with half a surrogate pair"),
    ([one(), {"text": "a"}], (), 2, "line 2, has no field 'label'; it has text"),
    ([one(), [1]], (), 3, "line 2 is no object"),
    ([one(), one(label=-2)], (), 3, f"{FORM} label = -2, expected 0..1"),
    ([one(), one(label=1.5)], (), 3, f"{FORM} no 'label' that is a class"),
    ([one(), one(label=[1])], (), 3, f"{FORM} no 'label' that is a class"),
    ([one(), one(label="x")], (), 3, "line 1 has a 'label' that is a number, others are names"),
    ([one(label="x"), one(label="\ud83d")], (), 3, f"{FORM} a 'label' with half a surrogate pair"),
    ([one(label="x")], (), 3, "all labels are 'x': name all classes with --class-names or --like"),
    ([one(label=-1)], (), 3, "has no row with a label: there is nothing to score"),
    ([one(), one(label="maybe")], ("--like",), 3, "a number, others are names"),
    ([one(label="neutral"), one(label="maybe")], ("--like",), 3, f"{FORM} the label 'maybe', which "),
    ([one(), one(label=3)], ("--like",), 3, f"{FORM} label = 3, expected 0..2"),
    ([one(), one(label="a")], ("--task", "regression"), 3, f"{FORM} a 'label' that is no finite number"),
    ([one(), one(label=None)], ("--task", "regression"), 3, f"{FORM} a 'label' that is no finite number"),
    ([one(label=[1]), one(label=[1, 2])], ("--task", "regression"), 3, f"{FORM} 2 values, expected 1"),
    ([one(label=[1]), one(label=2)], ("--task", "multilabel"), 3, f"{FORM} no 'label' that is a list of classes"),
    ([one(label=["a"]), one(label=["b", None])], ("--task", "multilabel"), 3, f"{FORM} a 'label' with an empty label"),
    ([one(label=[1]), one(label=[2])], ("--task", "multilabel", "--label-flags"), 3, f"{FORM} label[0] = 2, expected 0, 1"),
    ([], (), 3, "in.jsonl' holds no record"),
]


@pytest.mark.parametrize(("rows", "options", "code", "says"), BAD_ROWS)
def test_bad_rows(
    tmp_path: Path, fail: Tool, folder: Path, rows: list[Any], options: tuple[str, ...], code: int, says: str
) -> None:
    words = ["--input", write_lines(tmp_path / "in.jsonl", rows), "--tokenizer", folder]
    options = ("--like", f"hf:{folder}") if options == ("--like",) else options
    fail(NAME, *words, *options, code=code, says=says)


def test_usage_faults(tmp_path: Path, fail: Tool, folder: Path) -> None:
    words = ["--input", write_lines(tmp_path / "in.jsonl", [one(), one(label=1)]), "--tokenizer", folder]
    fail(NAME, *words, "--text-fields", "a,b,c", code=2, says="--text-fields names 3 fields, expected one or two")
    fail(NAME, *words, "--label-field", "text,label", code=2, says="--label-field names 2 fields, the task multiclass has one")
    fail(NAME, *words, "--label-flags", code=2, says="--label-flags is for --task multilabel")
    fail(NAME, *words, "--label-separator", "", code=2, says="--label-separator is empty, expected the text that stands")
    separated = [*words, "--label-separator", ";"]
    fail(NAME, *separated, code=2, says="--label-separator is for --task multilabel with one field")
    fail(NAME, *separated, "--task", "multilabel", "--label-flags", code=2, says="--label-separator is for --task multilabel")
    fail(NAME, *words, "--no-header", code=2, says="--no-header is for tables (.csv, .tsv, .tab), and '")
    fail(NAME, "--input", folder, *words[2:], "--no-header", code=2, says="--no-header is for tables (.csv, .tsv, .tab), and '")
    fail(NAME, *words, "--split", "test", code=2, says="--split is for the folder of a Hugging Face data set")
    fail(NAME, *words, "--like", folder, code=2, says="expected hf:FOLDER")
    (tmp_path / "names").write_text("a\nb\n")
    fail(NAME, *words, "--like", f"hf:{folder}", "--class-names", tmp_path / "names", code=2, says="names' names 2 classes, '")
    (tmp_path / "names").write_text("a\na\n")
    fail(NAME, *words, "--class-names", tmp_path / "names", code=3, says="names the class 'a' twice")
    (tmp_path / "config.json").write_text('{"id2label": {"1": "a"}}')
    fail(NAME, *words, "--like", f"hf:{tmp_path}", code=4, says="'id2label' that does not name each class from 0 on")
    fail(NAME, *words, "--like", f"hf:{tmp_path / 'none'}", code=4, says="none/config.json' does not exist")
