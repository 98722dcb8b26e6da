# SPDX-License-Identifier: Apache-2.0
"""DataSetWriter: what it writes, what it refuses, and that a failure leaves nothing."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from tally_data import DataError, DataSetWriter, ImageEncoding, OutputError, UsageError
from tally_data.structure import structure_digest

ENCODING = ImageEncoding("RGB", 1 / 255, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


def crc32c(content: bytes) -> int:
    """Bit by bit, from the definition: reflected polynomial 0x82F63B78."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def writer(path: Path, **more: object) -> DataSetWriter:
    options: dict = {"task": "multiclass", "num_classes": 3, "num_samples": 10, **more}
    return DataSetWriter(path, **options)


def fill(out: DataSetWriter, rows: int = 10) -> None:
    generator = np.random.default_rng(1)
    pixels = generator.integers(0, 256, (rows, 4, 5, 3), np.uint8)
    out.add_image(height=4, width=5, encoding=ENCODING, data=pixels)
    out.add_target(data=generator.integers(0, 3, rows))


def test_crc32c_check_value() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_everything_reads_back(tmp_path: Path) -> None:
    path, generator = tmp_path / "a.h5", np.random.default_rng(0)
    pixels = generator.integers(0, 256, (10, 4, 5, 3), np.uint8)
    with writer(path, class_names=["cat", "Käuzchen", "cat"], ignore_index=-100) as out:
        image = out.add_image(height=4, width=5, encoding=ENCODING)
        label = out.add_target()
        tokens = out.add_input("tokens", dtype="int32", shape=(7,))
        out.add_group("site", range(10))
        for first, last in ((0, 3), (3, 3), (3, 10)):
            image.append(pixels[first:last])
            label.append([0, 1, 2, -100, 0, 1, 2, 0, 1, 2][first:last])
            tokens.append(np.full((last - first, 7), last))
    with h5py.File(path) as file:
        assert dict(file.attrs) == {
            "tally_schema": 1,
            "task": b"multiclass",
            "num_classes": 3,
            "ignore_index": -100,
        }
        assert all(
            file.attrs[name].dtype == np.int64 for name in ("tally_schema", "num_classes", "ignore_index")
        )
        assert list(file["class_names"].asstr()) == ["cat", "Käuzchen", "cat"]
        image = file["inputs/image"]
        assert np.array_equal(image, pixels) and image.dtype == np.uint8
        assert image.chunks is None and image.compression is None and image.id.get_offset() is not None
        assert (image.attrs["layout"], image.attrs["channels"], image.attrs["scale"]) == (
            b"HWC",
            b"RGB",
            1 / 255,
        )
        assert image.attrs["mean"].tolist() == [0.1, 0.2, 0.3] and image.attrs["std"].tolist() == [
            0.4,
            0.5,
            0.6,
        ]
        assert file["targets/label"].dtype == np.dtype("<i8") and file["targets/label"][3] == -100
        assert (
            file["inputs/tokens"].dtype == np.dtype("<i4")
            and file["inputs/tokens"][:, 0].tolist() == [3] * 3 + [10] * 7
        )
        assert file["groups/site"].dtype == np.dtype("<i4") and file["groups/site"][...].tolist() == list(
            range(10)
        )


@pytest.mark.parametrize("rows_per_block", [1, 3, 10, 64])
@pytest.mark.parametrize("piece", [1, 4, 10])
def test_checksums_are_of_the_stored_bytes(tmp_path: Path, rows_per_block: int, piece: int) -> None:
    path, generator = tmp_path / "a.h5", np.random.default_rng(2)
    pixels, labels = generator.integers(0, 256, (10, 4, 5, 3), np.uint8), generator.integers(0, 3, 10)
    with writer(path, rows_per_block=rows_per_block) as out:
        image, label = out.add_image(height=4, width=5, encoding=ENCODING), out.add_target()
        for first in range(0, 10, piece):
            image.append(pixels[first : first + piece])
            label.append(labels[first : first + piece])
    content = path.read_bytes()
    with h5py.File(path) as file:
        for name in ("inputs/image", "targets/label"):
            dataset, table = file[name], file[f"checksums/{name}"]
            assert table.dtype == np.dtype("<u4") and table.attrs["rows_per_block"] == rows_per_block
            row_bytes = dataset.nbytes // 10
            raw = content[dataset.id.get_offset() :][: dataset.nbytes]
            step = row_bytes * rows_per_block
            assert table[...].tolist() == [
                crc32c(raw[first : first + step]) for first in range(0, len(raw), step)
            ]


def test_attributes_and_names_have_a_digest(tmp_path: Path) -> None:
    with writer(tmp_path / "a.h5", class_names=["a", "b", "c"]) as out:
        fill(out)
        out.set_attribute("source", "a camera")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        stored = file["checksums"].attrs["structure_sha256"].decode()
        assert structure_digest(file) == stored
        image = file["inputs/image"].attrs
        image["scale"] = np.nextafter(image["scale"], 1)
        assert structure_digest(file) != stored
        image["scale"] = ENCODING.scale
        assert structure_digest(file) == stored
        file["class_names"][1] = b"x"
        assert structure_digest(file) != stored


def test_texts_have_a_fixed_length(tmp_path: Path) -> None:
    """HDF5 1.10 may crash on damaged ones of variable length."""
    with writer(tmp_path / "a.h5", class_names=["a", "bö", "c"]) as out:
        fill(out)
        out.set_attribute("empty", "")
    found = 0
    with h5py.File(tmp_path / "a.h5") as file:
        for name in ("/", "inputs/image", "checksums"):
            attributes = file[name].attrs
            for stored in (attributes.get_id(key).get_type() for key in attributes):
                if stored.get_class() == h5py.h5t.STRING:
                    assert not stored.is_variable_str() and stored.get_cset() == h5py.h5t.CSET_UTF8
                    found += 1
        assert not file["class_names"].id.get_type().is_variable_str()
        assert file.attrs["empty"] == b""
    assert found == 5  # task, empty, layout, channels, structure_sha256


def test_checksums_can_be_left_out(tmp_path: Path) -> None:
    with writer(tmp_path / "a.h5", checksums=False) as out:
        fill(out)
    with h5py.File(tmp_path / "a.h5") as file:
        assert sorted(file) == ["inputs", "targets"]


def test_blocks_are_at_most_a_mebibyte(tmp_path: Path) -> None:
    with writer(tmp_path / "a.h5", num_samples=8) as out:
        out.add_image(height=224, width=224, encoding=ENCODING, data=np.zeros((8, 224, 224, 3), np.uint8))
        out.add_target(data=[0] * 8)
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["checksums/inputs/image"].attrs["rows_per_block"] == 4
        assert file["checksums/targets/label"].attrs["rows_per_block"] == 64


def test_blocks_are_no_larger_than_readers_take(tmp_path: Path) -> None:
    with writer(tmp_path / "a.h5", num_samples=2, rows_per_block=64) as out:
        out.add_input("x", dtype="uint8", shape=(3 << 20,), data=np.zeros((2, 3 << 20), np.uint8))
        out.add_target(data=[0] * 2)
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["checksums/inputs/x"].attrs["rows_per_block"] == 21  # of 64 MiB
        assert file["checksums/targets/label"].attrs["rows_per_block"] == 64


def test_same_input_same_bytes(tmp_path: Path) -> None:
    for name in ("a.h5", "b.h5"):
        with writer(tmp_path / name) as out:
            fill(out)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_file_format_is_old_enough(tmp_path: Path) -> None:
    with writer(tmp_path / "a.h5") as out:
        fill(out)
    assert (tmp_path / "a.h5").read_bytes()[8] == 0  # superblock version: every HDF5 1.x reads it


BAD_ROWS = [
    ("label", [0, 3], r"/targets/label\[5\] = 3, expected 0..2"),
    ("label", [-1], r"/targets/label\[4\] = -1, expected 0..2"),
    ("label", [0.5], "float64, expected int64"),
    ("label", [[0]], r"shape \[1, 1\], expected \[n\]"),
    ("label", [0] * 7, "row 10 was written, the set was declared with 10"),
    ("image", np.zeros((1, 4, 5, 3), np.float32), "float32, expected uint8"),
    ("image", np.full((1, 4, 5, 3), 256), "do not fit uint8"),
    ("image", np.zeros((1, 5, 4, 3), np.uint8), r"shape \[1, 5, 4, 3\], expected \[n, 4, 5, 3\]"),
    ("group", [2**31], "do not fit int32"),
]


@pytest.mark.parametrize(("column", "rows", "says"), BAD_ROWS)
def test_bad_rows_leave_nothing(tmp_path: Path, column: str, rows: object, says: str) -> None:
    with pytest.raises(DataError, match=says), writer(tmp_path / "a.h5") as out:
        columns = {
            "image": out.add_image(height=4, width=5, encoding=ENCODING),
            "label": out.add_target(),
            "group": out.add_group("site"),
        }
        columns["label"].append([0, 1, 2, 0])
        columns[column].append(rows)
    assert list(tmp_path.iterdir()) == []


def test_incomplete_sets_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="9 rows were written, expected 10"), writer(tmp_path / "a.h5") as out:
        fill(out, 9)
    with pytest.raises(DataError, match="no inputs"), writer(tmp_path / "a.h5") as out:
        out.add_target(data=[0] * 10)
    with pytest.raises(DataError, match="no /targets/label"), writer(tmp_path / "a.h5") as out:
        out.add_input("x", dtype="float32", data=np.zeros(10, np.float32))
    assert list(tmp_path.iterdir()) == []


def test_foreign_exception_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), writer(path, overwrite=True) as out:
        fill(out)
        1 / 0  # noqa: B018
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(OutputError, match="exists already"), writer(path):
        pass
    with writer(path, overwrite=True) as out:
        fill(out)
    assert h5py.is_hdf5(path) and list(tmp_path.iterdir()) == [path]


BAD_ARGUMENTS = [
    ({"task": "detection"}, UsageError),
    ({"num_classes": 1}, UsageError),
    ({"num_samples": 0}, DataError),
    ({"class_names": ["a"]}, UsageError),
    ({"rows_per_block": 65}, UsageError),
]


@pytest.mark.parametrize(("more", "kind"), BAD_ARGUMENTS)
def test_bad_arguments(tmp_path: Path, more: dict, kind: type[Exception]) -> None:
    with pytest.raises(kind), writer(tmp_path / "a.h5", **more):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        ("CMY", 1, (0,) * 3, (1,) * 3),
        ("RGB", 1, (0,), (1,) * 3),
        ("RGB", 0, (0,) * 3, (1,) * 3),
        ("L", 1, (0,), (0,)),
    ],
)
def test_bad_encodings(wrong: tuple) -> None:
    with pytest.raises(UsageError):
        ImageEncoding(*wrong)
