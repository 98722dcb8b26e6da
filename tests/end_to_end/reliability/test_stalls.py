# SPDX-License-Identifier: Apache-2.0
"""Ranks that hang: the others end the job with one line, and what was kept is resumed."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import odd_models
import pytest
import small
from launch import Program, finish
from resumed_runs import ALWAYS, ON_SIGNAL, Resumable, check_same, samples_behind
from running import ranks_of, stop, wait_until
from slow_cases import multiclass
from task_cases import TaskCase

LIMIT_S = 60
STALLED = 8
Start = Callable[..., tuple[Resumable, subprocess.Popen, list[int]]]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> TaskCase:
    """A hundred batches of about 30 ms."""
    return multiclass(tmp_path_factory.mktemp("case"), 1500, samples=403)


@pytest.fixture
def start(case: TaskCase, tally: Program, tmp_path: Path) -> Iterator[Start]:
    """Starts a run of three ranks; returns when rank 0 has evaluated a batch, and kept progress if it does."""
    started: list[subprocess.Popen] = []

    def begin(*options: object, launcher: tuple[str, ...] = ()) -> tuple[Resumable, subprocess.Popen, list[int]]:
        run = Resumable(tally, case, tmp_path / "run")
        command = run.command_line(*options, ranks=3)
        process = tally.start([command[0], *launcher, *command[1:]])
        started.append(process)
        events = run.output / "events.jsonl"
        wait_until(lambda: events.exists() and '"progress"' in events.read_text(), process, LIMIT_S)
        if ALWAYS[1] in options:
            wait_until(lambda: any((run.output / "progress").glob("*rank-0.b.state")), process, LIMIT_S)
        return run, process, ranks_of(process, tally.binary)

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_stopped_rank_ends_the_job(victim: int, start: Start) -> None:
    run, process, ranks = start(*ON_SIGNAL, "--stall-limit", 1)
    os.kill(ranks[victim], signal.SIGSTOP)
    ended = finish(process, LIMIT_S)
    ended.must_fail(STALLED, f"rank {victim} on ", "it has given no sign for ", "its process is stopped", "--stall-limit")
    error = json.loads(Path(f"{run.output}.error.json").read_text())
    assert (error["code"], error["rank"]) == (STALLED, victim)
    assert error["phase"] in ("evaluate", "wait_for_ranks")
    assert "it has given no sign" in error["cause"]
    # It is absent, or can be resumed: a rank that its launcher ends keeps what it did.
    assert not (run.output / "report.json").exists()
    run("--resume", ranks=2).must_succeed()


def test_progress_outlasts_a_stalled_job(start: Start, case: TaskCase, tally: Program, tmp_path: Path) -> None:
    run, process, ranks = start(*ALWAYS, "--stall-limit", 1)
    os.kill(ranks[2], signal.SIGSTOP)
    finish(process, LIMIT_S).must_fail(STALLED, "rank 2 on ")
    assert (run.output / "progress").exists()
    whole = Resumable(tally, case, tmp_path / "whole")
    whole(ranks=1).must_succeed()
    assert samples_behind(run.resume(ranks=2)) > 0
    check_same(run.output, whole.output)
    assert not Path(f"{run.output}.error.json").exists()


def test_a_stop_that_is_shorter_than_the_limit_is_forgiven(start: Start) -> None:
    run, process, ranks = start("--stall-limit", 30)
    for rank in ranks[1:]:
        stop(process, [rank])
        os.kill(rank, signal.SIGCONT)
    finish(process, LIMIT_S).must_succeed()
    assert (run.output / "report.json").exists()


def test_a_slow_rank_is_no_stall_but_brings_a_warning(tally: Program, tmp_path: Path) -> None:
    """The samples of rank 1, one of three, take ten times as long, each batch as long as the limit."""
    samples = small.make_set(93)
    data = samples.with_bright_sample(*range(31, 62)).write(tmp_path / "set.h5")
    model = small.save_model(odd_models.SlowOnBright(rounds=600), tmp_path / "m.pt")
    run = tally(
        "evaluate", "--model", model, "--data", data, "--batch-size", 1, "--stall-limit", 0.5, "--output", tmp_path / "run",
        ranks=3,
    ).must_succeed()  # fmt: skip
    warned = re.findall(r"warning: rank (\d+) is slow: so far it takes (\d+)", run.stderr)
    assert [rank for rank, _ in warned] == ["1"], run.stderr
    assert int(warned[0][1]) >= 3


def test_a_lost_rank_is_missed_where_the_launcher_goes_on(tally: Program, start: Start) -> None:
    """As launchers do that know nothing of MPI."""
    run, process, ranks = start(*ON_SIGNAL, launcher=tally.mpi.without_cleanup)
    os.kill(ranks[1], signal.SIGKILL)
    ended = finish(process, LIMIT_S)
    assert len(ended.errors) == 1, ended.stderr
    assert ended.errors[0].startswith("tally: error[8] rank 1 on ")
    assert "its process has ended" in ended.errors[0]
    assert json.loads(Path(f"{run.output}.error.json").read_text())["code"] == STALLED
    assert not (run.output / "report.json").exists()
