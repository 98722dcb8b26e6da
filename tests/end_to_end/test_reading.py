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
