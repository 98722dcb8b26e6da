# SPDX-License-Identifier: Apache-2.0
"""prepare_predictions: each form of input gives the same file, rows find their samples, and what is refused."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tally_data import DataSetWriter

from conftest import Tool

NAME = "prepare_predictions"
SAMPLES, CLASSES = 23, 3
NAMES = ["cat", "dog", "owl"]
SHUFFLED = np.random.default_rng(4).permutation(SAMPLES)
Convert = Callable[..., tuple[dict[str, np.ndarray], dict[str, Any], str]]


def scores(*shape: int) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(SAMPLES, *shape)).astype(np.float32)


def write_data(path: Path, task: str = "multiclass", num_classes: int = CLASSES, names: bool = True) -> Path:
    with DataSetWriter(
        path, task=task, num_classes=num_classes, num_samples=SAMPLES, overwrite=True,
        class_names=NAMES if num_classes == CLASSES else None,
    ) as out:  # fmt: skip
        out.add_input("x", dtype="float32", data=scores())
        if task == "segmentation":
            out.add_mask(height=4, width=5, data=np.zeros((SAMPLES, 4, 5), np.uint8))
        elif task == "map":
            out.add_map(height=4, width=5, data=scores(4, 5))
        else:
            shape = out._task.label_shape(num_classes)
            out.add_target("label", np.zeros((SAMPLES, *shape), out._task.label_dtype))
    if names:
        add_names(path, [f"img/{number}é.png" for number in range(SAMPLES)])
    return path


def add_names(path: Path, names: list[str]) -> None:
    """As the writers of data sets do that keep them."""
    encoded = [name.encode() for name in names]
    with h5py.File(path, "r+") as file:
        file["samples/name/values"] = np.frombuffer(b"".join(encoded), np.uint8)
        file["samples/name/offsets"] = np.cumsum([0, *map(len, encoded)], dtype=np.int64)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("set") / "set.h5")


@pytest.fixture
def convert(tmp_path: Path, succeed: Tool) -> Convert:
    """convert(input, data, *options) -> columns, attributes, what was printed."""

    def run(source: Path, data: Path, *options: object) -> tuple[dict[str, np.ndarray], dict[str, Any], str]:
        output = tmp_path / "p.h5"
        done = succeed(NAME, "--input", source, "--data", data, "--output", output, "--overwrite", *options)
        with h5py.File(output) as file:
            assert all(column.chunks is None and column.compression is None for column in file.values())
            return {name: column[...] for name, column in file.items()}, dict(file.attrs), done.stdout

    return run


def write_csv(path: Path, columns: dict[str, Any]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True))
    return path


def save(form: str, folder: Path, values: np.ndarray, **keys: Any) -> Path:
    """values [N, k]; as .npz also the keys."""
    path = folder / f"in.{form}"
    if form == "npy":
        np.save(path, values)
    elif form == "npz":
        np.savez(path, values=values, **keys)
    elif form == "compressed.npz":
        np.savez_compressed(path, values=np.asfortranarray(values), **keys)
    elif form == "csv":
        write_csv(path, keys | {f"v{number}": values[:, number] for number in range(values.shape[1])})
    else:
        arrow = pytest.importorskip("pyarrow", reason="pyarrow, which reads parquet, is not installed")
        by_column = {f"v{number}": values[:, number] for number in range(values.shape[1])}
        columns = keys | ({"values": list(values)} if form == "list.parquet" else by_column)
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path, row_group_size=7)
    return path


FORMS = ["npz", "compressed.npz", "csv", "parquet", "list.parquet"]


@pytest.mark.parametrize("form", ["npy", *FORMS])
def test_forms(form: str, data: Path, convert: Convert, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tally_data.prediction_tables.CELLS_PER_PIECE", 12)
    values = scores(CLASSES)
    columns, attributes, said = convert(save(form, tmp_path, values), data, "--outputs", "logits")
    assert sorted(columns) == ["index", "logits"] and columns["logits"].dtype == np.float32
    assert (columns["logits"] == values).all() and columns["index"].tolist() == list(range(SAMPLES))
    assert attributes["tally_predictions"] == 1 and attributes["task"] == b"multiclass"
    assert attributes["outputs"] == b"logits" and attributes["num_classes"] == b"3" and "note:" not in said


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", ["index", "name"])
def test_rows_find_their_samples(
    form: str, key: str, data: Path, convert: Convert, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tally_data.prediction_tables.CELLS_PER_PIECE", 12)
    values = scores(CLASSES)
    keys = SHUFFLED if key == "index" else np.array([f"img/{number}é.png" for number in SHUFFLED])
    source = save(form, tmp_path, values[SHUFFLED], **{key: keys})
    columns, _, _ = convert(source, data, "--outputs", "log-probabilities" if (values <= 0).all() else "logits")
    assert (columns["logits"] == values).all()
    in_order, _, _ = convert(source, data, "--outputs", "logits", "--match", "order")
    assert (in_order["logits"] == values[SHUFFLED]).all()


KINDS = [
    ("multiclass", CLASSES, "probabilities", np.abs(scores(CLASSES)).clip(max=1), "probabilities", "float32"),
    ("binary", 2, "logits", scores(), "logits", "float32"),
    ("binary", 2, "logits", scores(2), "logits", "float32"),
    ("multilabel", 4, "logits", scores(4), "logits", "float32"),
    ("multiclass", CLASSES, "classes", np.arange(SAMPLES) % CLASSES, "prediction", "int64"),
    ("binary", 2, "classes", (scores() > 0), "prediction", "int64"),
    ("multilabel", 4, "classes", (scores(4) > 0).astype(np.float64), "prediction", "uint8"),
    ("multilabel", 1, "classes", (scores(1) > 0), "prediction", "uint8"),
    ("regression", 1, None, scores(), "prediction", "float32"),
    ("regression", 2, "values", scores(2), "prediction", "float32"),
    ("segmentation", CLASSES, None, (scores(4, 5) > 0).astype(np.int32), "prediction", "uint8"),
    ("segmentation", 256, None, (scores(4, 5) > 0).astype(np.uint8), "prediction", "int32"),
]


@pytest.mark.parametrize(("task", "num_classes", "outputs", "values", "column", "dtype"), KINDS)
def test_kinds(
    task: str, num_classes: int, outputs: str | None, values: np.ndarray, column: str, dtype: str, convert: Convert,
    tmp_path: Path,
) -> None:
    data = write_data(tmp_path / "set.h5", task, num_classes)
    np.save(tmp_path / "in.npy", values)
    options = ["--outputs", outputs] if outputs else []
    columns, attributes, _ = convert(tmp_path / "in.npy", data, *options)
    assert sorted(columns) == sorted(["index", column])
    assert columns[column].dtype == dtype and np.array_equal(columns[column], values)
    assert attributes.get("outputs") == (outputs.encode() if task in ("multiclass", "binary", "multilabel") else None)


def test_columns_of_classes_stand_in_any_order(data: Path, convert: Convert, tmp_path: Path, fail: Tool) -> None:
    values = scores(CLASSES)
    table = {"owl": values[:, 2], "cat": values[:, 0], "dog": values[:, 1], "note": np.arange(SAMPLES)}
    source = write_csv(tmp_path / "in.csv", table)
    columns, _, _ = convert(source, data, "--outputs", "logits", "--columns", "owl,cat,dog")
    assert (columns["logits"] == values).all()
    by_class = {"OWL": values[:, NAMES.index("owl")]} | {
        name.title(): values[:, number] for number, name in enumerate(NAMES) if name != "owl"
    }
    columns, _, _ = convert(write_csv(tmp_path / "case.csv", by_class), data, "--outputs", "logits")
    assert (columns["logits"] == values).all()
    words = ["--input", source, "--data", data, "--outputs", "logits"]
    fail(NAME, *words, code=3, says="has columns with names of classes, but not those of")
    fail(NAME, *words, "--columns", "cat,dot", code=2, says="has no column 'dot'")


def test_a_single_column_is_of_class_1(convert: Convert, tmp_path: Path, fail: Tool) -> None:
    data = write_data(tmp_path / "set.h5", "binary", 2)
    with h5py.File(data, "r+") as file:
        file["class_names"] = ["0", "1"]
    source = tmp_path / "in.csv"
    words = ["--input", source, "--data", data, "--outputs", "logits"]
    for name in ("1", "score"):
        columns, _, _ = convert(write_csv(source, {name: scores()}), data, "--outputs", "logits")
        assert (columns["logits"] == scores()).all()
    write_csv(source, {"0": scores()})
    fail(NAME, *words, code=3, says="has the single column '0', which is the name of class 0; expected scores of class 1")
    source.write_text("".join(f"{value:.9g}\n" for value in scores()))
    columns, _, _ = convert(source, data, "--outputs", "logits", "--no-header")
    assert (columns["logits"] == scores()).all()


def test_what_is_rounded_is_counted(data: Path, convert: Convert, tmp_path: Path, fail: Tool) -> None:
    values = scores(CLASSES).astype(np.float64)
    np.save(tmp_path / "in.npy", values)
    assert "note:" not in convert(tmp_path / "in.npy", data, "--outputs", "logits")[2]
    values[3, :2] += 1e-12
    np.save(tmp_path / "in.npy", values)
    columns, _, said = convert(tmp_path / "in.npy", data, "--outputs", "logits")
    assert "note: 2 values are no float32 and were rounded" in said
    assert (columns["logits"] == values.astype(np.float32)).all()
    values[7, 1] = 1e300
    np.save(tmp_path / "in.npy", values)
    words = ["--input", tmp_path / "in.npy", "--data", data, "--outputs", "logits"]
    fail(NAME, *words, code=3, says="row 7, value [1]: '1e+300', expected finite numbers of 32 bits")


@pytest.mark.parametrize(("value", "outputs", "refused"), [
    (np.nan, "logits", True), (np.inf, "logits", True), (-np.inf, "logits", False),
    (-np.inf, "log-probabilities", False), (-np.inf, "probabilities", True), (-0.5, "probabilities", True),
    (0.5, "log-probabilities", True),
])  # fmt: skip
def test_values_that_are_none(
    value: float, outputs: str, refused: bool, data: Path, convert: Convert, tmp_path: Path, fail: Tool
) -> None:
    values = np.zeros((SAMPLES, CLASSES), np.float32)
    values[11, 2] = value
    np.save(tmp_path / "in.npy", values)
    words = ["--input", tmp_path / "in.npy", "--data", data, "--outputs", outputs]
    if refused:
        shown = "NaN" if np.isnan(value) else repr(str(values[11, 2]))
        fail(NAME, *words, code=3, says=f"row 11, value [2]: {shown}, expected")
    else:
        assert (convert(tmp_path / "in.npy", data, "--outputs", outputs)[0]["logits"] == values).all()


def test_each_sample_once(data: Path, tmp_path: Path, fail: Tool) -> None:
    index = np.arange(SAMPLES)
    index[[3, 4]] = [99, 5]
    source = save("npz", tmp_path, scores(CLASSES), index=index)
    words = ["--data", data, "--outputs", "logits", "--input"]

    def saved(**keys: Any) -> Path:
        return save("csv", tmp_path, scores(CLASSES)[: len(next(iter(keys.values())))], **keys)

    said = "by index: 2 missing (3, 4); 1 unknown (99); 1 there more than once (5)"
    fail(NAME, *words, source, code=3, says=said)
    names = [f"img/{number}é.png" for number in range(SAMPLES)]
    names[7] = "img/other.png"
    fail(NAME, *words, saved(name=names), code=3, says="by name: 1 missing (img/7é.png); 1 unknown (img/other.png)")
    fail(NAME, *words, saved(index=range(11)), code=3, says="12 missing (11, 12, 13, 14, 15, 16, 17, 18, 19, 20, …)")
    fail(NAME, *words, saved(index=["x"] * SAMPLES), code=3, says="the column index holds something else than whole numbers")
    fail(NAME, *words, saved(index=index, name=names), code=2, says="has both index and name: give --match index")
    fail(NAME, *words, save("csv", tmp_path, scores(CLASSES)), "--match", "index", code=2, says="--match index: ")


def test_names_that_the_data_set_does_not_have(tmp_path: Path, fail: Tool) -> None:
    data = write_data(tmp_path / "set.h5", names=False)
    source = save("csv", tmp_path, scores(CLASSES), name=np.array(["x"] * SAMPLES))
    words = ["--input", source, "--data", data, "--outputs", "logits"]
    fail(NAME, *words, code=3, says="has no names of samples (/samples/name); match by index instead")
    add_names(data, ["same"] * SAMPLES)
    fail(NAME, *words, code=3, says="has two samples of the name 'same'")


def test_what_does_not_fit(data: Path, tmp_path: Path, fail: Tool) -> None:
    words = ["--data", data, "--outputs", "logits", "--input"]

    def saved(values: np.ndarray) -> Path:
        np.save(tmp_path / "in.npy", values)
        return tmp_path / "in.npy"

    fail(NAME, *words, saved(scores(CLASSES)[:-1]), code=3, says=f"has 22 rows, data set '{data}' has 23 samples")
    fail(NAME, *words, save("csv", tmp_path, scores(CLASSES)[:-1]), code=3, says="has 22 rows, data set")
    fail(NAME, *words, save("csv", tmp_path, np.tile(scores(CLASSES), (2, 1))), code=3, says="has at least 46 rows, data set")
    fail(NAME, *words, saved(scores(4)), code=3, says="is [N, 4], expected [N, 3]: logits for multiclass")
    fail(NAME, *words, saved(np.array(["a"] * SAMPLES)), code=3, says="is [N], expected [N, 3]")
    fail(NAME, *words, saved(np.full((SAMPLES, 3), "a")), code=3, says="row 0, value [0]: 'a', expected numbers")
    fail(NAME, *words, saved(np.zeros((SAMPLES, 3), complex)), code=3, says="is of complex128, expected numbers or texts")
    fail(NAME, "--data", data, "--input", saved(scores(3)), code=2, says="say what the predictions are: --outputs logits, ")
    fail(NAME, *words[:2], "--outputs", "values", "--input", saved(scores(3)), code=2, says="predictions for multiclass are")


def test_files_that_are_none(data: Path, tmp_path: Path, fail: Tool) -> None:
    words = ["--data", data, "--outputs", "logits", "--input"]
    for form in ("npy", "npz", "csv"):
        (tmp_path / f"bad.{form}").write_bytes(b"")
    fail(NAME, *words, tmp_path / "bad.npy", code=3, says="bad.npy' is no array of numpy")
    fail(NAME, *words, tmp_path / "bad.npz", code=3, says="bad.npz' is no .npz file")
    fail(NAME, *words, tmp_path / "bad.csv", code=3, says="bad.csv' is empty")
    fail(NAME, *words, tmp_path / "none.npy", code=3, says="none.npy' does not exist")
    fail(NAME, *words, data, code=2, says="ends in none of .npy, .npz, .csv, .tsv and .parquet")
    np.save(tmp_path / "cut.npy", scores(CLASSES))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-20])
    fail(NAME, *words, tmp_path / "cut.npy", code=3, says="cut.npy' ends in row 21")
    (tmp_path / "odd.csv").write_text("a,b,c\n1,2,3\n1,2\n")
    fail(NAME, *words, tmp_path / "odd.csv", code=3, says="odd.csv', line 3: 2 cells, expected 3")
    np.savez(tmp_path / "two.npz", a=scores(3), b=scores(3))
    fail(NAME, *words, tmp_path / "two.npz", code=2, says="holds the arrays a, b: name one, --columns NAME")
    fail(NAME, "--data", tmp_path / "odd.csv", "--input", data, code=3, says="odd.csv' is no data set file")


def test_tasks_whose_predictions_have_a_form_of_their_own(tmp_path: Path, fail: Tool) -> None:
    data = write_data(tmp_path / "set.h5")
    with h5py.File(data, "r+") as file:
        file.attrs["task"] = "detection"
    np.save(tmp_path / "in.npy", scores(3))
    fail(NAME, "--input", tmp_path / "in.npy", "--data", data, code=2, says="of detections COCO's results")
