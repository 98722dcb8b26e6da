# SPDX-License-Identifier: Apache-2.0
"""How a data set is stored, how many threads read it and where from: the digits are the same."""

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
import small
from conftest import Evaluate, Result, Small
from launch import Program
from test_bad_input import MOUNT_SHELL, MOUNTS

OPTIONS = ["--device", "cpu", "--batch-size", small.BATCH]
PACKED = {
    "whole samples": {"chunks": (10, 8, 8, 3), "compression": "gzip", "compression_opts": 1},
    "a sample each": {"chunks": (1, 8, 8, 3), "compression": "gzip", "shuffle": True, "fletcher32": True},
    "one chunk": {"chunks": (103, 8, 8, 3), "compression": "gzip", "fletcher32": True},
    "cut samples": {"chunks": (16, 4, 8, 2), "compression": "gzip"},
    "not packed": {"chunks": (10, 8, 8, 3)},
}


def packed(data: Path, path: Path, storage: dict) -> Path:
    """The same data set, its images and labels stored otherwise."""
    shutil.copy(data, path)
    with h5py.File(path, "r+") as file:
        for name in ("/inputs/image", "/targets/label"):
            values, attributes = file[name][...], dict(file[name].attrs)
            del file[name]
            how = storage | {"chunks": storage["chunks"][: values.ndim]}
            file.create_dataset(name, data=values, **how).attrs.update(attributes)
    return path


def digits(result: Result) -> tuple[object, ...]:
    metrics = {name: entry["value"] for name, entry in result.report["metrics"].items()}
    return (*result.digests, result.report["digests"]["class"], metrics)


@pytest.fixture(scope="module")
def plain(small_case: Small, evaluate: Evaluate) -> Result:
    return evaluate(small_case.model, small_case.data, *OPTIONS)


@pytest.fixture(scope="module", params=PACKED)
def packed_data(request: pytest.FixtureRequest, small_case: Small, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(small_case.data, tmp_path_factory.mktemp("packed") / "small.h5", PACKED[request.param])


@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("threads", [2, 5])
def test_threads_change_nothing(
    threads: int, checksums: bool, small_case: Small, plain: Result, evaluate: Evaluate, tmp_path: Path
) -> None:
    data = small_case.samples.write(tmp_path / "small.h5", checksums=checksums)
    one = plain if checksums else evaluate(small_case.model, data, *OPTIONS)
    several = evaluate(small_case.model, data, *OPTIONS, "--read-threads", threads, ranks=2)
    assert digits(several) == digits(one)
    assert several.report["config"]["read-threads"] == str(threads)
    assert several.report["environment"]["read_threads"] == str(threads)
    assert plain.report["config"]["read-threads"] == "auto"
    assert plain.report["environment"]["read_threads"] == "1"


@pytest.mark.parametrize(("ranks", "threads"), [(None, 1), (3, 2), (1, 5)])
def test_storage_changes_nothing(
    ranks: int | None, threads: int, packed_data: Path, small_case: Small, plain: Result, evaluate: Evaluate
) -> None:
    found = evaluate(small_case.model, packed_data, *OPTIONS, "--read-threads", threads, ranks=ranks)
    assert digits(found) == digits(plain)


@pytest.mark.parametrize("ranks", [None, 3])
def test_a_damaged_chunk(ranks: int | None, small_case: Small, tally: Program, tmp_path: Path) -> None:
    data = packed(small_case.data, tmp_path / "small.h5", PACKED["whole samples"])
    with h5py.File(data) as file:
        chunk = file["/inputs/image"].id.get_chunk_info_by_coord((60, 0, 0, 0))
    with data.open("r+b") as file:
        file.seek(chunk.byte_offset + chunk.size // 2)
        file.write(b"\x55\xaa\x55")
    arguments = ["--model", small_case.model, "--data", data, "--output", tmp_path / "run", *OPTIONS]
    run = tally("evaluate", *arguments, "--read-threads", 3, "--progress", "off", ranks=ranks)
    run.must_fail(3, str(data), "/inputs/image chunk 6 does not inflate to 1920 bytes (read)")
    assert not (tmp_path / "run").exists()


def test_the_number_of_threads(tally: Program, small_case: Small) -> None:
    for wrong in ("0", "65", "many"):
        run = tally("evaluate", "--model", small_case.model, "--data", small_case.data, "--read-threads", wrong)
        run.must_fail(2, "--read-threads", wrong, "a whole number from 1 to 64 or 'auto'")


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_a_staged_set_gives_the_same(
    ranks: int, small_case: Small, plain: Result, evaluate: Evaluate, tmp_path: Path
) -> None:
    found = evaluate(small_case.model, small_case.data, *OPTIONS, "--stage", tmp_path, ranks=ranks)
    assert digits(found) == digits(plain)
    assert list(tmp_path.iterdir()) == []
    # Blocks of 16 images of 192 bytes and of as many labels, at an edge of two slices on both sides.
    blocks = (192 + 8) * 16
    staged = found.report["inputs"]["data"]["staged_bytes"]
    assert 103 * 200 <= staged <= 103 * 200 + (ranks - 1) * blocks
    assert found.report["timing"]["phases"]["stage_s"]["max"] > 0
    assert "staged_bytes" not in plain.report["inputs"]["data"]
    assert "stage_s" not in plain.report["timing"]["phases"]


@pytest.mark.parametrize(("ranks", "threads"), [(None, 1), (3, 2)])
def test_a_staged_set_may_be_stored_otherwise(
    ranks: int | None, threads: int, packed_data: Path, small_case: Small, plain: Result, evaluate: Evaluate,
    tmp_path: Path,
) -> None:  # fmt: skip
    options = [*OPTIONS, "--stage", tmp_path, "--read-threads", threads]
    assert digits(evaluate(small_case.model, packed_data, *options, ranks=ranks)) == digits(plain)
    assert list(tmp_path.iterdir()) == []


def test_a_staged_set_is_checked_as_ever(small_case: Small, tally: Program, tmp_path: Path) -> None:
    data = tmp_path / "small.h5"
    shutil.copy(small_case.data, data)
    with h5py.File(data) as file:
        offset = file["/inputs/image"].id.get_offset()
    with data.open("r+b") as file:
        file.seek(offset + 50 * 192)
        file.write(b"\xff")
    arguments = ["--model", small_case.model, "--data", data, "--output", tmp_path / "run", *OPTIONS]
    run = tally("evaluate", *arguments, "--stage", tmp_path, "--progress", "off", ranks=3)
    run.must_fail(3, str(data), "/inputs/image rows 48..63 have the CRC-32C")


def test_more_ranks_than_samples(small_case: Small, plain: Result, evaluate: Evaluate, tmp_path: Path) -> None:
    options = [*OPTIONS, "--limit", 8, "--stage", tmp_path]
    one = evaluate(small_case.model, small_case.data, *OPTIONS, "--limit", 8)
    assert digits(evaluate(small_case.model, small_case.data, *options, ranks=3)) == digits(one)


@pytest.fixture
def staging_fails(tally: Program, small_case: Small, tmp_path: Path) -> Callable[..., None]:
    def run(command: str, folder: Path, ranks: int | None, *texts: str) -> None:
        arguments = ["--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
        found = tally(command, *arguments, *OPTIONS, "--progress", "off", "--stage", folder, ranks=ranks)
        found.must_fail(6, str(folder), *texts)
        assert not (tmp_path / "run").exists()

    return run


@pytest.mark.parametrize("ranks", [None, 3])
@pytest.mark.parametrize("command", ["evaluate", "check"])
def test_a_folder_that_is_none(command: str, ranks: int | None, staging_fails: Callable, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder in (tmp_path / "nowhere", tmp_path / "file"):
        staging_fails(command, folder, ranks, "no writable folder", "--stage")
    staging_fails(command, Path("/proc"), ranks, "--stage")


ON_A_SMALL_DISK = """
mount -t tmpfs -o size=$1k disk "$0" || exit 99
shift
"$@"
"""


@pytest.mark.skipif(not MOUNTS, reason="no disk of its own size can be mounted here")
@pytest.mark.parametrize("ranks", [None, 3])
@pytest.mark.parametrize(("size_kib", "fits"), [(16, False), (64, True)])
def test_a_full_disk(
    size_kib: int, fits: bool, ranks: int | None, tally: Program, small_case: Small, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    arguments = ["--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
    command = tally.command("evaluate", *arguments, *OPTIONS, "--stage", disk, "--progress", "off", ranks=ranks)
    run = tally.run_command([*MOUNT_SHELL, ON_A_SMALL_DISK, str(disk), str(size_kib), *command])
    if fits:
        assert run.code == 0, run.stderr
    else:
        run.must_fail(6, str(disk), "has 16.0 KiB free", "KiB are needed")
        assert not (tmp_path / "run").exists()
