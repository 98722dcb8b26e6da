# SPDX-License-Identifier: Apache-2.0
"""LibTorch is loaded by what needs it, and by nothing else."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import small
import torch
from conftest import Evaluate, Small
from launch import Program

LIBRARY = "libtally_torch.so"


@pytest.fixture(autouse=True)
def is_apart(tally: Program) -> None:
    if not (tally.binary.parent / LIBRARY).exists():
        pytest.skip("this program is linked to LibTorch, as under a sanitizer")


@pytest.fixture
def without(tally: Program, tmp_path: Path) -> Program:
    """The program in a folder where its library with LibTorch is not."""
    (tmp_path / "bin").mkdir()
    return Program(Path(shutil.copy(tally.binary, tmp_path / "bin")), tally.launcher)


def test_it_is_not_linked(without: Program) -> None:
    needed = subprocess.run(["objdump", "-p", without.binary], capture_output=True, text=True, check=True).stdout
    assert "libhdf5" in needed
    assert not re.search(r"NEEDED\s+lib(torch|c10)", needed)


def test_what_does_without(without: Program, evaluate: Evaluate, small_case: Small, tmp_path: Path) -> None:
    results = [evaluate(small_case.model, small_case.data, "--batch-size", size).folder for size in (4, 8)]
    for words in (["--help"], ["evaluate", "--help"], ["inspect", results[0]], ["inspect", small_case.data],
                  ["compare", *results]):  # fmt: skip
        without(*words).must_succeed()
    score = ["score", "--predictions", results[0] / "predictions.h5", "--data", small_case.data, "--output"]
    without(*score, tmp_path / "scored", ranks=2).must_succeed()
    environments = [small.report(folder)["environment"] for folder in (tmp_path / "scored", results[0])]
    assert [one["torch"] for one in environments] == ["not loaded", torch.__version__]
    assert environments[0]["backend"] == "none" and environments[1]["backend"].startswith(f"LibTorch {torch.__version__}, ")
    version = without("--version").must_succeed().stdout
    assert "LibTorch cannot be loaded" in version and "MPI" in version


def test_what_does_not(without: Program, small_case: Small, tmp_path: Path) -> None:
    run = ["evaluate", "--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
    for ranks in (None, 2):
        without(*run, ranks=ranks).must_fail(5, "LibTorch cannot be loaded", LIBRARY)
    without("inspect", small_case.model).must_fail(5, "LibTorch cannot be loaded")


def test_another_build_on_one_rank(tally: Program, small_case: Small, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    library = (tally.binary.parent / LIBRARY).read_bytes()
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # length of the owner, of the bytes, NT_GNU_BUILD_ID, the owner
    at = library.index(note) + len(note)
    (other / LIBRARY).write_bytes(library[:at] + bytes([library[at] ^ 1]) + library[at + 1 :])
    program = shutil.copy(tally.binary, other)
    arguments = ["evaluate", "--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
    command = [*tally.command(*arguments, ranks=2), ":", "-n", "1", *map(str, [program, *arguments])]
    tally.run_command(command).must_fail(2, f"the program's {LIBRARY} differs", "rank 0 (", "rank 2 (")


def test_another_revision(tally: Program, small_case: Small, tmp_path: Path) -> None:
    """A library that was left behind by an earlier build."""
    revision = re.search(r"\((\S+), ", tally("--version").stdout)[1].encode()
    library = (tally.binary.parent / LIBRARY).read_bytes()
    assert library.count(revision) == 1
    (tmp_path / LIBRARY).write_bytes(library.replace(revision, revision[::-1]))
    program = Program(Path(shutil.copy(tally.binary, tmp_path)), tally.launcher)
    run = ["check", "--model", small_case.model, "--data", small_case.data]
    program(*run).must_fail(5, f"is of revision {revision[::-1].decode()}, the program is of {revision.decode()}")
