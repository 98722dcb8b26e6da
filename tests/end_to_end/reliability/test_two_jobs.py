# SPDX-License-Identifier: Apache-2.0
"""Two runs that are given one folder, file systems without locks, and quotas: one line and exit 6, and no result is harmed."""

import errno
import os
import signal
from pathlib import Path

import pytest
import small
from conftest import Small
from launch import Program, Run, finish
from running import wait_until

FAULTS = os.environ.get("TALLY_TEST_FAULTS")
# As in resumed_runs.Strike: behind the first batch.
IN_THE_LOOP = ("events.jsonl", 6)
WRITING_ROWS = ("predictions.h5", 4)
AT_ONCE = ("", 1)
NO_LOCKS = {"ENOLCK": errno.ENOLCK, "ENOTSUP": errno.ENOTSUP}

pytestmark = pytest.mark.skipif(not FAULTS, reason="no library of faults can be loaded before a program with sanitizers")


class Folder:
    def __init__(self, tally: Program, case: Small, output: Path, locks: int = 0) -> None:
        self.tally, self.output, self._locks = tally, output, locks
        self._words = ["evaluate", "--model", case.model, "--data", case.data, "--output", output]

    def _struck(self, at: tuple[str, int], error: int = 0, sent: int = 0) -> dict[str, str]:
        """`at` is the n-th operation on files whose names begin so."""
        faults = f"{self.output / at[0]}|{at[1]}|{error}|{int(sent)}"
        return {"FAULT_POINTS": faults, "FAULT_POINTS_LOCKS": str(self._locks), "LD_PRELOAD": str(FAULTS)}

    def run(self, *options: object, ranks: int | None = None, at: tuple[str, int] = AT_ONCE, error: int = 0) -> Run:
        return self.tally.run_command(self.tally.command(*self._words, *options, ranks=ranks), env=self._struck(at, error))

    def refuses_while_another_is_at_work(self, *options: object, because: str) -> None:
        """Which then ends as if nothing had happened."""
        command = self.tally.command(*self._words, "--overwrite")
        first = self.tally.start(command, env=self._struck(IN_THE_LOOP, sent=signal.SIGSTOP))
        state = Path(f"/proc/{first.pid}/stat")
        wait_until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T", first)
        before = sorted(os.listdir(self.output))
        assert "events.jsonl" in before
        self.run(*options).must_fail(6, str(self.output), because)
        assert sorted(os.listdir(self.output)) == before
        first.send_signal(signal.SIGCONT)
        finish(first).must_succeed()
        assert small.report(self.output)["samples"]["evaluated"] == small.NUM_SAMPLES


@pytest.mark.parametrize("options", [(), ("--overwrite",), ("--resume",)], ids=" ".join)
def test_the_second_of_two_jobs_is_refused(
    options: tuple[str, ...], tally: Program, small_case: Small, tmp_path: Path
) -> None:
    folder = Folder(tally, small_case, tmp_path / "run")
    folder.run("--limit", 50).must_succeed()
    complete = "holds the complete result of other inputs" if options == ("--resume",) else "is in use by another run"
    because = "already holds a result" if not options else complete
    folder.refuses_while_another_is_at_work(*options, because=because)


@pytest.mark.parametrize("locks", NO_LOCKS.values(), ids=NO_LOCKS)
def test_where_a_file_system_has_no_locks(locks: int, tally: Program, small_case: Small, tmp_path: Path) -> None:
    folder = Folder(tally, small_case, tmp_path / "run", locks)
    folder.run(ranks=3).must_succeed()
    folder.run("--overwrite").must_succeed()
    assert not (folder.output / ".tally-lock").exists()
    folder.refuses_while_another_is_at_work("--overwrite", because="not known on a file system without locks")


@pytest.mark.parametrize("ranks", [None, 3])
def test_a_quota_that_is_used_up(ranks: int | None, tally: Program, small_case: Small, tmp_path: Path) -> None:
    folder = Folder(tally, small_case, tmp_path / "results")
    refused = folder.run(ranks=ranks, error=errno.EDQUOT)
    refused.must_fail(6, str(folder.output), "Disk quota exceeded")
    assert not folder.output.exists()
    folder.run("--limit", 50).must_succeed()
    kept = {path.name: path.read_bytes() for path in folder.output.iterdir()}
    failed = folder.run("--overwrite", ranks=ranks, at=WRITING_ROWS, error=errno.EDQUOT)
    failed.must_fail(6, str(folder.output), "Disk quota exceeded")
    assert {path.name: path.read_bytes() for path in folder.output.iterdir()} == kept
