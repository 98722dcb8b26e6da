# SPDX-License-Identifier: Apache-2.0
"""A run that fails, whatever of, says so in one line, and leaves the same beside its output folder for scripts."""

import json
import os
import resource
import signal
import stat
import time
from pathlib import Path

import pytest
import small
from conftest import Small
from corrupt import BAD_DATA
from launch import Program, finish
from test_interruption import LIMIT_S, RANKS, Start, is_resumable_after_kill, ranks_of, slow_model, start  # noqa: F401


def error_of(output: Path) -> dict:
    path = output.with_name(output.name + ".error.json")
    assert stat.S_IMODE(path.stat().st_mode) & ~0o640 == 0
    assert list(output.parent.glob(f"{path.name}.*")) == []
    return json.loads(path.read_text())


@pytest.mark.parametrize("victim", [None, 0, 2], ids=["alone", "rank 0", "rank 2"])
def test_a_fatal_signal(victim: int | None, tally: Program, start: Start, tmp_path: Path) -> None:  # noqa: F811
    output = tmp_path / "results" / "run"
    process = start(output, ranks=None if victim is None else 3)
    os.kill(process.pid if victim is None else ranks_of(process, tally.binary)[victim], signal.SIGSEGV)
    ended = finish(process, LIMIT_S)
    assert ended.code == (-signal.SIGSEGV if victim is None else tally.mpi.code_of_signal(signal.SIGSEGV))
    (line,) = ended.errors
    who = "" if victim is None else f" rank {victim} on "
    assert line.startswith(f"tally: error[9]{who}")
    assert ": evaluate, " in line and "signal SIGSEGV (sent by process " in line
    error = error_of(output)
    # The other ranks are asked to stop, and keep what they did if a batch ends in time.
    if victim is None or tally.mpi.warns_before_kill:
        assert {path.name for path in output.parent.iterdir()} - {"run"} == {"run.error.json"}
        assert not output.exists() or (victim is not None and is_resumable_after_kill(output))
    assert (error["code"], error["signal"], error["rank"]) == (139, "SIGSEGV", victim or 0)
    assert error["phase"] == "evaluate"
    assert error["cause"] in line


@RANKS
def test_a_failure_stays_until_the_next_run(
    ranks: int | None, tally: Program, small_case: Small, tmp_path: Path
) -> None:
    data, output = tmp_path / "bad.h5", tmp_path / "run"
    BAD_DATA["label_too_large"].make(small_case.data, data)
    arguments = ["evaluate", "--model", small_case.model, "--output", output, "--progress", "off", "--data"]
    began = time.time()
    failed = tally(*arguments, data, ranks=ranks)
    failed.must_fail(3, "bad.h5")
    assert not output.exists()
    error = error_of(output)
    assert error["tally_error"] == 1
    assert (error["code"], error["signal"], error["phase"]) == (3, None, "evaluate")
    assert f"{error['cause']}. {error['next_step']}" in failed.errors[0]
    assert error["host"] == os.uname().nodename
    assert ranks is None or f" rank {error['rank']} on " in failed.errors[0]
    written = time.strptime(error["time"], "%Y-%m-%dT%H:%M:%SZ")
    assert time.strftime("%Y-%m-%d", time.gmtime(began)) <= time.strftime("%Y-%m-%d", written)
    tally(*arguments, small_case.data, "--bach-size", 8, ranks=ranks).must_fail(2)
    assert error_of(output) == error, "wrong usage is no run"
    tally(*arguments, small_case.data, ranks=ranks).must_succeed()
    assert {path.name for path in tmp_path.iterdir()} == {"bad.h5", "run"}


def test_commands_without_a_result_leave_none(tally: Program, small_case: Small, tmp_path: Path) -> None:
    model = tmp_path / "cut.pt"
    model.write_bytes(b"no model")
    arguments = ["--model", model, "--data", small_case.data, "--output", tmp_path / "run"]
    tally("check", *arguments).must_fail(4, "cut.pt")
    assert list(tmp_path.iterdir()) == [model]
    tally("evaluate", *arguments).must_fail(4, "cut.pt")
    assert error_of(tmp_path / "run")["phase"] == "load_model"
    assert "cut.pt" in error_of(tmp_path / "run")["object"]


def test_another_build_on_one_rank(tally: Program, small_case: Small, tmp_path: Path) -> None:
    program = tally.binary.read_bytes()
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # length of the owner, of the bytes, NT_GNU_BUILD_ID, the owner
    at = program.index(note) + len(note)
    other = tmp_path / "tally"
    other.write_bytes(program[:at] + bytes([program[at] ^ 1]) + program[at + 1 :])
    other.chmod(0o755)
    arguments = ["evaluate", "--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
    command = [*tally.command(*arguments, ranks=2), ":", "-n", "1", *map(str, [other, *arguments])]
    host = os.uname().nodename
    tally.run_command(command).must_fail(2, "the program or its settings differs", f"rank 0 ({host})", f"rank 2 ({host})")
    assert not (tmp_path / "run.error.json").exists()


def test_its_working_folder_is_gone(tally: Program, small_case: Small, tmp_path: Path) -> None:
    gone = ["sh", "-c", 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"', str(tmp_path / "gone")]
    for command in (["--version"], ["check", "--model", small_case.model, "--data", small_case.data]):
        tally.run_command([*gone, str(tally.binary), *map(str, command)]).must_fail(5, "the working folder does not exist")


def test_memory_is_missing_before_it_begins(tally: Program) -> None:
    """Constructors of libraries need more than this."""

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (50 << 20, 50 << 20))

    run = finish(tally.start(tally.command("--version"), preexec_fn=little))
    assert run.code == 5
    (line,) = run.errors
    assert line.startswith("tally: error[5]: start: out of memory. ")
    assert "terminate called" not in run.stderr
