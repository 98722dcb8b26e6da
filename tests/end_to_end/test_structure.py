# SPDX-License-Identifier: Apache-2.0
"""What a data set says of itself (attributes, names, shapes) has a digest of its own, beside the checksums of its rows."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
from conftest import Evaluate, Small
from launch import Program
from tally_data.structure import CHECKSUMS, DIGEST_ATTRIBUTE, structure_digest

SAYS = "was changed or damaged: its attributes, names and shapes have the SHA-256"


def with_flipped_bit(data: Path, path: Path, value: bytes, bit: int) -> Path:
    """A copy in which one bit of the only place that holds `value` is another."""
    content = bytearray(data.read_bytes())
    assert content.count(value) == 1
    content[content.index(value) + bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    return path


def without_digest(data: Path, path: Path) -> Path:
    """As earlier versions wrote it."""
    shutil.copyfile(data, path)
    with h5py.File(path, "r+") as file:
        del file[CHECKSUMS].attrs[DIGEST_ATTRIBUTE]
    return path


@pytest.mark.parametrize("ranks", [None, 3])
@pytest.mark.parametrize("bit", [0, 48, 51])
def test_one_bit_of_the_normalisation(
    bit: int, ranks: int | None, tally: Program, small_case: Small, tmp_path: Path
) -> None:
    scale = struct.pack("<d", small.ENCODING.scale)
    damaged = with_flipped_bit(small_case.data, tmp_path / "damaged.h5", scale, bit)
    output = tmp_path / "run"
    run = tally("evaluate", "--model", small_case.model, "--data", damaged, "--output", output, ranks=ranks)
    run.must_fail(3, "damaged.h5", SAYS)
    assert not output.exists()


def test_no_command_takes_a_damaged_class_name(tally: Program, small_case: Small, tmp_path: Path) -> None:
    damaged = with_flipped_bit(small_case.data, tmp_path / "damaged.h5", b"class 3", 2)
    tally("inspect", damaged).must_fail(3, "damaged.h5", SAYS)
    tally("check", "--model", small_case.model, "--data", damaged).must_fail(3, "damaged.h5", SAYS)
    copy = tmp_path / "copy.h5"
    tally("inspect", damaged, "--add-checksums", copy).must_fail(3, "damaged.h5", SAYS, DIGEST_ATTRIBUTE)
    assert not copy.exists()


def test_sets_of_earlier_versions(tally: Program, small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    """They are read as before, called what they are, and brought up to date."""
    old, new = without_digest(small_case.data, tmp_path / "old.h5"), tmp_path / "new.h5"
    assert "integrity: columns checked, 2 of 2 columns" in tally("inspect", old).must_succeed().stdout
    tally("inspect", old, "--add-checksums", new).must_succeed()
    assert "integrity: checked, 2 of 2 columns" in tally("inspect", new).must_succeed().stdout
    before, after = (evaluate(small_case.model, path) for path in (old, new))
    assert before.report["inputs"]["data"]["integrity"] == "columns checked"
    assert after.report["inputs"]["data"]["integrity"] == "checked"
    assert before.report["inputs"]["data"]["identity"] == after.report["inputs"]["data"]["identity"]
    assert before.report["digests"] == after.report["digests"]
    with h5py.File(new) as one, h5py.File(small_case.data) as other:
        assert one[CHECKSUMS].attrs[DIGEST_ATTRIBUTE] == other[CHECKSUMS].attrs[DIGEST_ATTRIBUTE]
    checked = tally("check", "--model", small_case.model, "--data", old).must_succeed().stdout
    assert "old.h5" in checked and "columns checked)" in checked


def test_what_is_changed_on_purpose(tally: Program, small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    changed, copy = tmp_path / "changed.h5", tmp_path / "copy.h5"
    shutil.copyfile(small_case.data, changed)
    with h5py.File(changed, "r+") as file:
        file["inputs/image"].attrs["scale"] = 1 / 128
    tally("inspect", changed, "--add-checksums", copy).must_fail(3, "changed.h5", SAYS)
    with h5py.File(changed, "r+") as file:
        del file[CHECKSUMS].attrs[DIGEST_ATTRIBUTE]
    tally("inspect", changed, "--add-checksums", copy).must_succeed()
    result = evaluate(small_case.model, copy)
    assert result.report["inputs"]["data"]["integrity"] == "checked"
    assert result.digests != evaluate(small_case.model, small_case.data).digests


def odd_attributes(file: h5py.File) -> None:
    attributes = file["inputs/x"].attrs
    attributes["flag"] = True
    attributes["half"] = np.float16(0.1)
    attributes["single"] = np.array([[0.1, -0.0], [np.inf, 1e-40]], np.float32)
    attributes["big-endian"] = np.array([1, -2], ">i2")
    attributes["unsigned"] = np.uint64(2**64 - 1)
    attributes["negative"] = np.array([-1, 3], np.int8)
    attributes["none"] = np.array([], np.float64)
    attributes["nothing"] = h5py.Empty("f4")
    attributes["größe"] = "größer"
    attributes["empty text"] = ""
    attributes["texts"] = ["a", "", "längst"]
    attributes["bytes"] = np.array([b"q ", b"rr"])
    spaces = h5py.h5t.TypeID.copy(h5py.h5t.C_S1)
    spaces.set_size(6)
    spaces.set_strpad(h5py.h5t.STR_SPACEPAD)
    attribute = h5py.h5a.create(file["inputs/x"].id, b"spaces", spaces, h5py.h5s.create(h5py.h5s.SCALAR))
    attribute.write(np.array(b"abc   ", "S6"), spaces)
    attributes["pair"] = np.array((1, 2.5), np.dtype([("a", "i4"), ("b", "f8")]))
    attributes["reference"] = file["targets"].ref


def odd_objects(file: h5py.File) -> None:
    file["notes/flags"] = np.array([True, False])
    file["notes/big-endian"] = np.zeros(3, ">f4")
    file["notes/type"] = np.dtype("f4")
    file["notes/scalar"] = np.float32(3)
    file["notes/nothing"] = h5py.Empty("i4")
    file["notes/text"] = ["one", "two"]
    file["notes/again"] = file["notes/scalar"]  # a second hard link
    file["notes.more"] = np.zeros((0, 4), np.int16)  # sorts between /notes and /notes/…
    del file["class_names"]
    file["class_names"] = ["", "größer"]  # of variable length


@pytest.mark.parametrize("change", [lambda _: None, odd_attributes, odd_objects], ids=["plain", "attributes", "objects"])
def test_python_and_the_program_agree(change: Callable[[h5py.File], None], tally: Program, tmp_path: Path) -> None:
    plain, checked = tmp_path / "plain.h5", tmp_path / "checked.h5"
    with small.DataSetWriter(
        plain, task="binary", num_classes=2, num_samples=3, class_names=["no", "yes"], checksums=False
    ) as out:
        out.add_input("x", dtype="float32", shape=(2,), data=np.zeros((3, 2), np.float32))
        out.add_target("label", [0, 1, 1])
    with h5py.File(plain, "r+") as file:
        change(file)
    tally("inspect", plain, "--add-checksums", checked).must_succeed()
    with h5py.File(checked) as file:
        assert structure_digest(file) == file[CHECKSUMS].attrs[DIGEST_ATTRIBUTE].decode()
    assert "integrity: checked" in tally("inspect", checked).must_succeed().stdout
