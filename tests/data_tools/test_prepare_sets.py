# SPDX-License-Identifier: Apache-2.0
"""prepare_digits, prepare_mnist, prepare_cifar10 on made-up and on real files; outputs that cannot be written."""

import gzip
import os
import pty
import resource
import struct
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from sklearn.datasets import load_digits

from conftest import TOOLS, Tool


def write_idx(path: Path, values: np.ndarray) -> None:
    header = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    path.write_bytes(header + values.tobytes())


def make_mnist(folder: Path, num_images: int = 20, num_labels: int = 20) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(5)
    images = generator.integers(0, 256, (num_images, 28, 28), np.uint8)
    labels = generator.integers(0, 10, num_labels, np.uint8)
    folder.mkdir(exist_ok=True)
    write_idx(folder / "t10k-images-idx3-ubyte", images)
    write_idx(folder / "t10k-labels-idx1-ubyte", labels)
    return images, labels


def test_digits_split(tmp_path: Path, succeed: Tool) -> None:
    digits, parts = load_digits(), []
    for split, count in (("train", 1437), ("test", 360)):
        succeed("prepare_digits", "--split", split, "--output", tmp_path / f"{split}.h5")
        with h5py.File(tmp_path / f"{split}.h5") as file:
            assert file["inputs/image"].shape == (count, 8, 8, 1)
            assert file["inputs/image"].attrs["scale"] == 1 / 16
            assert set(file["targets/label"][...]) == set(range(10))
            parts.append((file["inputs/image"][..., 0], file["targets/label"][...]))
    images, labels = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    assert np.array_equal(images, digits.images) and np.array_equal(labels, digits.target)


def test_digits_from_a_table(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    digits = load_digits()
    table = tmp_path / "digits.csv.gz"
    np.savetxt(table, np.column_stack([digits.data, digits.target]), "%d", delimiter=",")
    succeed("prepare_digits", "--input", table, "--output", tmp_path / "a.h5")
    succeed("prepare_digits", "--output", tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    np.savetxt(table, digits.data, "%d", delimiter=",")
    fail("prepare_digits", "--input", table, code=3, says="not the digits table")


def test_mnist_plain_and_gzipped(tmp_path: Path, succeed: Tool) -> None:
    images, labels = make_mnist(tmp_path / "in")
    succeed("prepare_mnist", "--input", tmp_path / "in", "--output", tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        assert np.array_equal(file["inputs/image"][..., 0], images)
        assert np.array_equal(file["targets/label"], labels)
        assert file["inputs/image"].attrs["channels"] == b"L"
    for path in list((tmp_path / "in").iterdir()):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    succeed("prepare_mnist", "--input", tmp_path / "in", "--split", "test", "--output", tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    succeed("prepare_mnist", "--input", tmp_path / "in", "--channels", "RGB", "--output", tmp_path / "c.h5")
    with h5py.File(tmp_path / "c.h5") as file:
        assert np.array_equal(file["inputs/image"], np.repeat(images[..., None], 3, -1))
        assert file["inputs/image"].attrs["mean"].tolist() == [0.1307] * 3


def test_mnist_faults(tmp_path: Path, fail: Tool) -> None:
    folder = tmp_path / "in"
    fail("prepare_mnist", "--input", folder, code=3, says="does not exist")
    make_mnist(folder, 20, 19)
    fail("prepare_mnist", "--input", folder, code=3, says="20 images")
    fail("prepare_mnist", "--input", folder, "--split", "train", code=3, says="train-images-idx3-ubyte.gz")
    labels = folder / "t10k-labels-idx1-ubyte"
    write_idx(labels, np.arange(20, dtype=np.uint8))
    fail("prepare_mnist", "--input", folder, code=3, says="/targets/label[10] = 10, expected 0..9")
    labels.write_bytes(b"\0\0\x0d\1aaaa")
    fail("prepare_mnist", "--input", folder, code=3, says="it begins with 00 00 0d 01")
    labels.write_bytes(gzip.compress(bytes(1000))[:-9])
    fail("prepare_mnist", "--input", folder, code=3, says="cannot be read")
    images = folder / "t10k-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1])
    fail("prepare_mnist", "--input", folder, code=3, says="its header says 20x28x28")


def test_cifar10(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    records = np.random.default_rng(6).integers(0, 256, (7, 3073), np.uint8)
    records[:, 0] %= 10
    (tmp_path / "1.bin").write_bytes(records[:4].tobytes())
    (tmp_path / "2.bin").write_bytes(records[4:].tobytes())
    succeed(
        "prepare_cifar10", "--input", tmp_path / "1.bin", tmp_path / "2.bin", "--output", tmp_path / "a.h5"
    )
    with h5py.File(tmp_path / "a.h5") as file:
        image = file["inputs/image"]
        assert image.shape == (7, 32, 32, 3) and file["targets/label"][...].tolist() == records[:, 0].tolist()
        assert image[5, 2, 3].tolist() == [records[5, 1 + plane * 1024 + 2 * 32 + 3] for plane in range(3)]
        assert list(file["class_names"].asstr())[:2] == ["airplane", "automobile"]
    (tmp_path / "cut.bin").write_bytes(records.tobytes()[:-1])
    fail(
        "prepare_cifar10",
        "--input",
        tmp_path / "cut.bin",
        code=3,
        says="21510 bytes, expected a multiple of 3073",
    )
    records[5, 0] = 10
    (tmp_path / "bad.bin").write_bytes(records.tobytes())
    fail("prepare_cifar10", "--input", tmp_path / "bad.bin", code=3, says="record 5: label 10, expected 0..9")
    fail("prepare_cifar10", "--input", tmp_path, code=3, says="is not a file")


def test_output_faults(tmp_path: Path, tool: Tool, succeed: Tool) -> None:
    out = tmp_path / "a.h5"
    succeed("prepare_digits", "--output", out)
    before = out.read_bytes()
    done = tool("prepare_digits", "--output", out, "--split", "train")
    assert done.returncode == 6 and "exists already" in done.stderr and out.read_bytes() == before
    succeed("prepare_digits", "--output", out, "--split", "train", "--overwrite")
    assert out.read_bytes() != before
    done = tool("prepare_digits", "--output", tmp_path / "none" / "a.h5")
    assert done.returncode == 6 and "does not exist" in done.stderr
    done = tool("prepare_digits", "--output", tmp_path)
    assert done.returncode == 6 and "is a directory" in done.stderr
    assert list(tmp_path.iterdir()) == [out]


def test_progress_bar_on_a_terminal(tmp_path: Path) -> None:
    terminal, stderr = pty.openpty()
    command = [sys.executable, str(TOOLS / "prepare_digits.py"), "--output", str(tmp_path / "a.h5")]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=stderr, check=False)
    os.close(stderr)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert done.returncode == 0
    assert "a.h5: 100%" in shown and "360/360" in shown and "image/s" in shown


def test_full_disk_leaves_nothing(tmp_path: Path, tool: Tool) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    done = tool("prepare_digits", "--split", "train", "--output", tmp_path / "a.h5", preexec_fn=limit)
    assert done.returncode == 6 and len(done.stderr.splitlines()) == 1 and "cannot be written" in done.stderr
    assert os.listdir(tmp_path) == []


def test_real_mnist(tmp_path: Path, data_folder: Path, succeed: Tool) -> None:
    for split, head, counts in (
        ("test", [7, 2, 1, 0, 4, 1, 4, 9, 5, 9], [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]),
        (
            "train",
            [5, 0, 4, 1, 9, 2, 1, 3, 1, 4],
            [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        ),
    ):
        out = tmp_path / f"{split}.h5"
        succeed("prepare_mnist", "--input", data_folder / "mnist", "--split", split, "--output", out)
        with h5py.File(out) as file:
            labels = file["targets/label"][...]
            assert labels[:10].tolist() == head and np.bincount(labels).tolist() == counts
            if split == "test":
                assert file["inputs/image"][...].sum(dtype=np.int64) == 264_923_200


@pytest.mark.parametrize("channels", ["RGB", "BGR"])
def test_real_cifar10(tmp_path: Path, data_folder: Path, succeed: Tool, channels: str) -> None:
    source = data_folder / "cifar10-test1000" / "test_batch_first1000.bin"
    succeed("prepare_cifar10", "--input", source, "--output", tmp_path / "a.h5", "--channels", channels)
    with h5py.File(tmp_path / "a.h5") as file:
        labels = file["targets/label"][...]
        assert labels[:10].tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
        assert np.bincount(labels).tolist() == [103, 89, 100, 103, 90, 86, 112, 102, 106, 109]
        assert file["inputs/image"][0, 0, 0].tolist() == [158, 112, 49][:: 1 if channels == "RGB" else -1]
