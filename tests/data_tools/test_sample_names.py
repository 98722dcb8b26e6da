# SPDX-License-Identifier: Apache-2.0
"""DataSetWriter.add_names: names in pieces and at once, their checksums, and what is refused."""

from pathlib import Path

import google_crc32c
import h5py
import numpy as np
import pytest
from tally_data import DataError, DataSetWriter, UsageError
from tally_data.structure import structure_digest
from tally_data.text_column import MOST_BYTES, printable

from conftest import Tool
from sample_names import sample_names
from small_coco import annotations, write_coco

NAMES = ["a/1.png", "Käuzchen", "", "a/1.png", "x" * MOST_BYTES]


def writer(path: Path, rows: int = len(NAMES), **more: object) -> DataSetWriter:
    return DataSetWriter(path, task="predict", num_samples=rows, **more)


def fill(out: DataSetWriter) -> None:
    out.add_input("x", dtype="float32", data=np.zeros(out.num_samples, np.float32))


def test_names_read_back(tmp_path: Path) -> None:
    with writer(tmp_path / "a.h5") as out:
        fill(out)
        out.add_names(NAMES)
    with writer(tmp_path / "b.h5") as out:
        column = out.add_names()
        fill(out)
        column.append(NAMES[:2])
        column.append([])
        column.append(name for name in NAMES[2:])
    with h5py.File(tmp_path / "a.h5") as file, h5py.File(tmp_path / "b.h5") as in_pieces:
        assert sample_names(file) == sample_names(in_pieces) == NAMES
        assert structure_digest(file) == file["checksums"].attrs["structure_sha256"].decode()
        for part, rows_per_block in (("values", 4096), ("offsets", 64)):
            table, stored = file[f"checksums/samples/name/{part}"], file[f"samples/name/{part}"][...]
            assert table.attrs["rows_per_block"] == rows_per_block
            blocks = [stored[first : first + rows_per_block] for first in range(0, len(stored), rows_per_block)]
            assert table[...].tolist() == [google_crc32c.value(block.tobytes()) for block in blocks]
    with writer(tmp_path / "c.h5", checksums=False) as out:
        fill(out)
        out.add_names([""] * len(NAMES))
    with h5py.File(tmp_path / "c.h5") as file:
        assert file["samples/name/values"].shape == (0,) and "checksums" not in file


BAD_NAMES = [
    (["a"], "1 rows were written, expected 2"),
    (["a", "b", "c"], r"/samples/name\[2\] was written, the set was declared with 2 rows"),
    (["a", "b\n"], r"/samples/name\[1\] = 'b\\n' holds a control character"),
    (["a\x85", "b"], r"/samples/name\[0\] = .* holds a control character"),
    (["a", "\udcff"], r"/samples/name\[1\] = .* cannot be written in UTF-8"),
    (["a", "ä" * (MOST_BYTES // 2 + 1)], f"has {MOST_BYTES + 1} bytes, expected at most {MOST_BYTES}"),
    (["a", Path("b")], "is PosixPath, expected str"),
]


@pytest.mark.parametrize(("names", "says"), BAD_NAMES)
def test_bad_names_leave_nothing(tmp_path: Path, names: list, says: str) -> None:
    with pytest.raises(DataError, match=says), writer(tmp_path / "a.h5", 2) as out:
        fill(out)
        out.add_names(names)
    assert list(tmp_path.iterdir()) == []


def test_names_are_added_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="/samples/name was added before"), writer(tmp_path / "a.h5") as out:
        out.add_names(NAMES)
        out.add_names()


def test_printable() -> None:
    assert printable("a\tb\x9f\udc80\ud800é") == r"a\x09b\x9f\x80\ud800é"


@pytest.mark.parametrize("name", [None, 5, ""])
def test_names_are_of_all_images_or_none(tmp_path: Path, succeed: Tool, name: object) -> None:
    content = annotations()
    content["images"][1]["file_name"] = name
    words = ["--input", write_coco(tmp_path / "in.json", content), "--output", tmp_path / "out.h5", "--no-images"]
    succeed("prepare_coco", *words)
    with h5py.File(tmp_path / "out.h5") as file:
        assert "samples" not in file
