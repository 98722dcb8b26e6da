# SPDX-License-Identifier: Apache-2.0
"""--overwrite takes no result away before there is another, and nothing that is not a result's."""

import os
import shutil
import signal
from pathlib import Path

import pytest
import small
from conftest import Small
from launch import Program, Run

FAULTS = os.environ.get("TALLY_TEST_FAULTS")
NAMES = ("report.json", "metrics.h5", "predictions.h5")
EIO = 5


@pytest.fixture(scope="module")
def earlier(tally: Program, small_case: Small, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of fewer samples; it is copied, not replaced."""
    output = tmp_path_factory.mktemp("earlier") / "run"
    words = ["--model", small_case.model, "--data", small_case.data, "--output", output, "--limit", 50]
    tally("evaluate", *words).must_succeed()
    return output


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name in NAMES}


def is_new(folder: Path, earlier: Path) -> bool:
    found, old = files(folder), files(earlier)
    whole = set(found) == set(NAMES) and all(found[name] != old[name] for name in NAMES)
    return whole and small.report(folder)["samples"]["evaluated"] == small.NUM_SAMPLES


class Overwriting:
    """Runs that replace the earlier result, with a fault at one of their file operations."""

    def __init__(self, tally: Program, case: Small, earlier: Path, folder: Path) -> None:
        self.tally, self.earlier, self.output = tally, earlier, folder / "run"
        self._words = ["--model", case.model, "--data", case.data, "--output", self.output, "--overwrite"]
        self._passed = folder / "passed"

    def __call__(self, at: int, error: int = 0, sent: int = 0, ranks: int | None = None) -> Run:
        shutil.rmtree(self.output, ignore_errors=True)
        shutil.copytree(self.earlier, self.output)
        faults = {"FAULT_POINTS": f"{self.output}|{at}|{error}|{sent}", "FAULT_POINTS_PASSED": str(self._passed)}
        command = self.tally.command("evaluate", *self._words, ranks=ranks)
        return self.tally.run_command(command, env=faults | {"LD_PRELOAD": str(FAULTS)})

    def operations(self) -> int:
        self._passed.unlink(missing_ok=True)
        self(0).must_succeed()
        return self._passed.stat().st_size


@pytest.fixture
def overwriting(tally: Program, small_case: Small, earlier: Path, tmp_path: Path) -> Overwriting:
    if not FAULTS:
        pytest.skip("no library of faults can be loaded before a program with sanitizers")
    return Overwriting(tally, small_case, earlier, tmp_path)


def test_whatever_strikes_one_of_the_two_results_is_whole(overwriting: Overwriting, tally: Program) -> None:
    """result_folder_replacing_test strikes at each operation; here, at some, it is the whole program."""
    operations = overwriting.operations()
    assert operations > 50
    output, earlier = overwriting.output, overwriting.earlier
    # The last third is where names change.
    for at in range(operations * 2 // 3, operations, 10):
        failed = overwriting(at, error=EIO)
        assert failed.code in (0, 6), failed.stderr
        assert is_new(output, earlier) if failed.code == 0 else files(output) == files(earlier)
        assert overwriting(at, sent=signal.SIGKILL).code == -signal.SIGKILL
        tally("inspect", output).must_succeed()
        assert is_new(output, earlier) or files(output) == files(earlier)
    assert overwriting(operations * 3 // 4, sent=signal.SIGTERM, ranks=3).code != 0
    assert is_new(output, earlier) or files(output) == files(earlier)
    assert {path.name for path in output.iterdir()} == {*NAMES, "events.jsonl"}


@pytest.mark.parametrize("option", ["data", "weights", "model", "class-weights", "config"])
def test_what_it_reads_is_not_replaced(
    option: str, tally: Program, small_case: Small, earlier: Path, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    shutil.copytree(earlier, output)
    (tmp_path / "link").symlink_to(output / "metrics.h5")
    words = {"model": small_case.model, "data": small_case.data, option: tmp_path / "link"}
    if option == "config":
        (output / "metrics.h5").write_text("batch-size = 8\n")
    kept = files(output)
    run = tally("evaluate", *(word for name, path in words.items() for word in (f"--{name}", path)),
                "--output", output, "--overwrite")  # fmt: skip
    run.must_fail(2, "metrics.h5", f"--{option}")
    assert files(output) == kept


@pytest.mark.parametrize("name", ["report.json", "predictions.h5", "predictions.json", "nbest.json", "detections.json"])
def test_a_file_that_no_run_wrote_stays(name: str, tally: Program, small_case: Small, tmp_path: Path) -> None:
    output = tmp_path / "run"
    output.mkdir()
    (output / name).write_text('{"mine": 1}')
    words = ["--model", small_case.model, "--data", small_case.data, "--output", output, "--overwrite"]
    tally("evaluate", *words).must_fail(6, name, "no run of tally wrote")
    assert [(path.name, path.read_text()) for path in output.iterdir()] == [(name, '{"mine": 1}')]
