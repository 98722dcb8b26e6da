# SPDX-License-Identifier: Apache-2.0
"""prepare_predictions: files of predictions, and data sets, that cannot be read, or not as they were given."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from test_prepare_predictions import CLASSES, NAME, SAMPLES, save, scores, write_csv, write_data

from conftest import Tool


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("set") / "set.h5")


@pytest.fixture
def parquet() -> Any:
    pytest.importorskip("pyarrow", reason="pyarrow, which reads parquet, is not installed")
    return pytest.importorskip("pyarrow.parquet")


def test_lists_beside_other_columns(parquet: Any, data: Path, tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    import pyarrow

    columns = {"logits": list(scores(CLASSES)), "label": np.arange(SAMPLES)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "in.parquet")
    words = ["--input", tmp_path / "in.parquet", "--data", data, "--outputs", "logits"]
    fail(NAME, *words, code=2, says="has lists of values in the column 'logits', and the columns 'label' beside it")
    succeed(NAME, *words, "--columns", "logits", "--output", tmp_path / "a.h5")


def damage(path: Path, what: bytes) -> Path:
    """Of the values, behind all headers, some bytes are others."""
    content = bytearray(path.read_bytes())
    at = content.index(what)
    content[at : at + len(what)] = bytes(255 - byte for byte in what)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("column", ["v0", "index"])
def test_damaged_parquet_files(
    parquet: Any, compression: str, column: str, data: Path, tmp_path: Path, fail: Tool
) -> None:
    import pyarrow

    columns = {"index": np.arange(SAMPLES), **{f"v{number}": scores(CLASSES)[:, number] for number in range(CLASSES)}}
    path = tmp_path / "in.parquet"
    parquet.write_table(pyarrow.table(columns), path, compression=compression, use_dictionary=False)
    chunk = parquet.read_metadata(path).row_group(0).column(list(columns).index(column))
    content = path.read_bytes()
    damage(path, content[chunk.data_page_offset : chunk.data_page_offset + 20])
    words = ["--input", path, "--data", data, "--outputs", "logits"]
    fail(NAME, *words, code=3, says=f"'{path}' cannot be read, it is damaged: ")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("by_columns", [False, True])
def test_damaged_archives(save: Any, by_columns: bool, tmp_path: Path, fail: Tool) -> None:
    values = scores(4000)  # more than is read with the header
    data = write_data(tmp_path / "set.h5", num_classes=4000)
    path = tmp_path / "in.npz"
    save(path, values=np.asfortranarray(values) if by_columns else values)
    content = path.read_bytes()
    middle = len(content) * 6 // 10
    damage(path, content[middle : middle + 12])
    words = ["--input", path, "--data", data, "--outputs", "logits"]
    fail(NAME, *words, code=3, says=f"'{path}' cannot be read, it is damaged: ")


def test_encrypted_archives(data: Path, tmp_path: Path, fail: Tool) -> None:
    path = tmp_path / "in.npz"
    np.savez(path, values=scores(CLASSES))
    content = bytearray(path.read_bytes())
    for header, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + at] |= 1
    path.write_bytes(content)
    words = ["--input", path, "--data", data, "--outputs", "logits"]
    fail(NAME, *words, code=3, says="in.npz', array 'values', is no array of numpy: File")


def replace(file: h5py.File, name: str, value: object) -> None:
    """value: None for a group."""
    del file[name]
    if value is None:
        file.create_group(name)
    else:
        file[name] = value


ODD_SETS = {
    "text": (lambda file: file.attrs.__setitem__("num_classes", "three"), "num_classes is 'three', expected a whole number"),
    "list": (lambda file: file.attrs.__setitem__("num_classes", [3, 3]), "expected a whole number"),
    "label": (lambda file: replace(file, "targets/label", None), "targets/label is no array"),
    "one label": (lambda file: replace(file, "targets/label", 1), "targets/label is no array"),
    "names": (lambda file: replace(file, "class_names", None), "class_names is no list"),
    "one name": (lambda file: replace(file, "class_names", "cat"), "class_names is no list"),
    "input": (lambda file: replace(file, "inputs/x", None), "/inputs/x is no array with a row for each sample"),
    "empty": (lambda file: replace(file, "inputs/x", np.zeros((0, 1), np.float32)), "has no samples"),
    "samples": (lambda file: replace(file, "samples/name/offsets", [0, 1]), "/samples/name is no ragged array of 23 texts"),
    "places": (lambda file: replace(file, "samples/name/values", None), "/samples/name/values is no array"),
}


@pytest.mark.parametrize("kind", ODD_SETS)
def test_odd_data_sets(kind: str, tmp_path: Path, fail: Tool) -> None:
    data = write_data(tmp_path / "set.h5")
    change, says = ODD_SETS[kind]
    with h5py.File(data, "r+") as file:
        change(file)
    source = save("csv", tmp_path, scores(CLASSES), name=np.array([f"img/{number}é.png" for number in range(SAMPLES)]))
    fail(NAME, "--input", source, "--data", data, "--outputs", "logits", code=3, says=says)


@pytest.mark.parametrize("form", ["csv", "parquet", "dictionary.parquet", "list.parquet"])
def test_long_texts_are_no_numbers(form: str, parquet: Any, data: Path, tmp_path: Path, fail: Tool) -> None:
    """Beside which an array of all cells would be as wide as the longest."""
    texts = [["0.5"] * SAMPLES for _ in range(CLASSES)]
    texts[1][11] = "é" * 65
    path, words = tmp_path / f"in.{form}", ["--data", data, "--outputs", "logits"]
    if form == "csv":
        write_csv(path, {f"v{number}": values for number, values in enumerate(texts)})
    else:
        import pyarrow

        columns = {"v1": [list(row) for row in zip(*texts, strict=True)]}
        if form != "list.parquet":
            columns = {f"v{number}": pyarrow.array(values) for number, values in enumerate(texts)}
        if form == "dictionary.parquet":
            columns = {name: values.dictionary_encode() for name, values in columns.items()}
        parquet.write_table(pyarrow.table(columns), path)
    place = "line 13" if form == "csv" else "row 11"
    said = f"in.{form}', {place}, column 'v1' holds a text of 65 characters ('éééééééééééééééééééé…'), expected a number"
    fail(NAME, "--input", path, *words, code=3, says=said)
