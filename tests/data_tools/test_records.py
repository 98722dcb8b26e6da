# SPDX-License-Identifier: Apache-2.0
"""Records of labelled texts and tagged sentences: each form of file, the parts of data sets, and each refusal."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tally_data.errors import DataError, EnvironmentFault, UsageError
from tally_data.records import read_records

ROWS = [{"text": "a cat", "label": "0"}, {"text": 'the "quick" fox', "label": "1"}, {"text": "not good, but", "label": "0"}]
FILES = {
    "a.csv": 'text,label\r\na cat,0\r\n"the ""quick"" fox",1\n"not good, but",0\n\n',
    "a.tsv": '\ufefftext\tlabel\na cat\t0\nthe "quick" fox\t1\nnot good, but\t0',
    "a.jsonl": "".join(json.dumps(row) + "\n\n" for row in ROWS),
}


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name].encode())
    records = read_records(tmp_path / name, None)
    assert [row for _, row in records.rows] == ROWS and records.class_names == {}
    first, step = (1, 2) if name == "a.jsonl" else (2, 1)
    assert [place for place, _ in records.rows] == [f"line {first + step * at}" for at in range(3)]


def test_long_values(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text\n"' + "two\nlines " * 50_000 + '"\n')
    ((place, row),) = read_records(tmp_path / "a.csv", None).rows
    assert len(row["text"]) == 500_000 and place == "line 50002"


def test_no_header(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\t1\ny\t2\n")
    rows = read_records(tmp_path / "a.tsv", None, has_header=False).rows
    assert [row for _, row in rows] == [{"1": "x", "2": "1"}, {"1": "y", "2": "2"}]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Any]:
    """The same rows, published as parquet files and saved with save_to_disk(), in two files each; and pyarrow."""
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    kinds = {"names": ["no", "yes"], "_type": "ClassLabel"}
    features = {"label": kinds, "tags": {"feature": kinds, "_type": "List"}, "old": [kinds], "text": {"dtype": "string"}}
    table = pyarrow.table({"text": list("abcd"), "label": [0, 1, 1, 0], "tags": [[0], [], [1, 1], None]})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    published, saved = tmp_path / "published", tmp_path / "saved"
    for path in (published / "data", saved / "test"):
        path.mkdir(parents=True)
    for part, rows in enumerate((table[:3], table[3:])):
        pyarrow.parquet.write_table(rows, published / "data" / f"test-{part:05}-of-00002.parquet")
        with pyarrow.ipc.new_stream(saved / "test" / f"data-{part:05}-of-00002.arrow", table.schema) as stream:
            stream.write_table(rows)
    pyarrow.parquet.write_table(table[:1], published / "data" / "train-00000-of-00001.parquet")
    files = [{"filename": f"data-{part:05}-of-00002.arrow"} for part in range(2)]
    (saved / "test" / "state.json").write_text(json.dumps({"_data_files": files}))
    (saved / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    return published, saved, pyarrow


def test_arrow_folders(folders: tuple[Path, Path, Any]) -> None:
    published, saved, _ = folders
    expected = [
        ("row 1", {"text": "a", "label": 0, "tags": [0]}), ("row 2", {"text": "b", "label": 1, "tags": []}),
        ("row 3", {"text": "c", "label": 1, "tags": [1, 1]}), ("row 4", {"text": "d", "label": 0, "tags": None}),
    ]  # fmt: skip
    for path, split in ((published, "test"), (saved, "test"), (saved / "test", None)):
        records = read_records(path, split)
        assert records.rows == expected
        assert records.class_names == {name: ["no", "yes"] for name in ("label", "tags", "old")}
    assert read_records(published / "data" / "test-00001-of-00002.parquet", None).rows == [("row 1", expected[3][1])]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_only_fields_that_are_wanted_are_read(tmp_path: Path, kind: str) -> None:
    """Another one is damaged: Python cannot have its texts."""
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"text": ["a"], "label": [1], "idx": [7], "more": ["spoilt"]})
    path = file = tmp_path / "a.parquet"
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path, compression="none")
    else:
        path, file = tmp_path, tmp_path / "data.arrow"
        (path / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
        with pyarrow.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    file.write_bytes(file.read_bytes().replace(b"spoilt", b"\xff\xff\xff\xff\xff\xff"))
    with pytest.raises(DataError, match=f"{file.name}' cannot be read: 'utf-8' codec can't decode"):
        read_records(path, None)
    assert read_records(path, None, fields=["label", "text"]).rows == [("row 1", {"text": "a", "label": 1, "idx": 7})]
    with pytest.raises(UsageError, match=f"{file.name}' has no field 'tags'; it has text, label, idx, more"):
        read_records(path, None, fields=["text", "tags"])


def test_faults_of_folders(folders: tuple[Path, Path, Any]) -> None:
    published, saved, pyarrow = folders

    def refuse(path: Path, split: str | None, kind: type, says: str) -> None:
        with pytest.raises(kind, match=says):
            read_records(path, split)

    refuse(saved, None, UsageError, "saved' has several parts; choose one with --split: train, test")
    refuse(published, "dev", UsageError, "published' has no part 'dev'; it has test, train")
    refuse(saved / "test", "test", UsageError, "is one part of a data set already")
    refuse(saved, "train", DataError, "train/state.json' does not exist")
    (published / "data" / "train-00000-of-00001.parquet").write_bytes(b"PAR1 no parquet")
    refuse(published, "train", DataError, "train-00000-of-00001.parquet' cannot be read")
    (saved / "test" / "data-00000-of-00002.arrow").write_bytes(b"no stream of Arrow's")
    refuse(saved, "test", DataError, "data-00000-of-00002.arrow' cannot be read")
    (published / "more").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a"]}), published / "more" / "test.parquet")
    refuse(published, "test", UsageError, "has files of 'test' in several folders: give the folder of one")
    (saved / "test" / "state.json").write_text('{"_data_files": [{"filename": "x"}], "_indices_data_files": ["y"]}')
    refuse(saved, "test", DataError, "keeps an order beside its rows, as old versions of datasets did")
    (saved / "test" / "state.json").write_text('{"_data_files": [{"filename": "../x.arrow"}]}')
    refuse(saved, "test", DataError, "names no files of data")
    (saved / "test" / "state.json").write_text("{}")
    refuse(saved, "test", DataError, "names no files of data")
    (saved / "dataset_dict.json").write_text("{}")
    refuse(saved, "test", DataError, "names no splits")
    (saved / "dataset_dict.json").write_text('{"splits": ["test", "../published"]}')
    refuse(saved, "test", DataError, "names no splits, or not as folders beside it")
    refuse(saved.parent / "saved" / "test" / "none", None, DataError, "none' does not exist")
    (saved.parent / "empty").mkdir()
    refuse(saved.parent / "empty", None, DataError, "holds neither state.json nor .parquet files")


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(EnvironmentFault, match='run "\\$TALLY_PYTHON" -m pip install pyarrow'):
        read_records(tmp_path / "a.parquet", None)


@pytest.mark.parametrize(("name", "content", "says"), [
    ("a.csv", b"text,label\na,b,c\n", "a.csv', line 2, has 3 values, expected 2 as in the first line"),
    ("a.csv", b'text,label\n"a,0\n', "a.csv', line 2, is not CSV: unexpected end of data"),
    ("a.csv", b"text,text\n", "has two fields 'text' in its first line; without a header give --no-header"),
    ("a.csv", b"text\n\xff\n", "a.csv' is not text in UTF-8"),
    ("a.tsv", b"text\tlabel\n", "a.tsv' holds no record"),
    ("a.jsonl", b"\n", "a.jsonl' holds no record"),
    ("a.jsonl", b"{", "line 1, is not JSON"),
    ("a.txt", b"x", r"has the ending '.txt', expected one of .csv, .tsv"),
])  # fmt: skip
def test_bad_files(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_records(tmp_path / name, None)
