# SPDX-License-Identifier: Apache-2.0
"""Signals as users, launchers and batch systems send them, to runs in the midst of their loops, which are then resumed."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import small
import task_cases
from launch import Program, finish
from resumed_runs import ALWAYS, ON_SIGNAL, STOPPED, Resumable, check_same, samples_behind
from running import await_end, ranks_of, send_while_held, wait_until
from slow_cases import multiclass
from task_cases import TaskCase

LIMIT_S = 60
Start = Callable[..., tuple[Resumable, subprocess.Popen]]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> TaskCase:
    """A hundred batches of about 30 ms: long enough for all ranks to be held in their midst, and each shorter by far than
    the second that Open MPI's mpirun leaves to its ranks."""
    return multiclass(tmp_path_factory.mktemp("case"), 1500, samples=403)


@pytest.fixture(scope="module")
def whole(case: TaskCase, tally: Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Resumable(tally, case, tmp_path_factory.mktemp("whole") / "run")
    run(ranks=1).must_succeed()
    return run.output


@pytest.fixture
def start(case: TaskCase, tally: Program, tmp_path: Path) -> Iterator[Start]:
    """Starts a run; returns when rank 0 has evaluated a batch, and where it always keeps progress, has kept some."""
    started: list[subprocess.Popen] = []

    def begin(*options: object, ranks: int | None = None) -> tuple[Resumable, subprocess.Popen]:
        run = Resumable(tally, case, tmp_path / "run")
        process = tally.start(run.command_line(*options, ranks=ranks))
        started.append(process)
        events = run.output / "events.jsonl"
        wait_until(lambda: events.exists() and '"progress"' in events.read_text(), process, LIMIT_S)
        if options == ALWAYS:
            wait_until(lambda: any((run.output / "progress").glob("*rank-0.b.state")), process, LIMIT_S)
        return run, process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def check_stopped(run: Resumable, process: subprocess.Popen, code: int = STOPPED) -> None:
    ended = finish(process, LIMIT_S)
    assert ended.code == code, f"exit {ended.code}\n{ended.stderr}"
    assert run.names() == {"events.jsonl", "progress"}


def check_resumed(run: Resumable, whole: Path, ranks: int) -> None:
    assert samples_behind(run.resume(ranks=ranks)) > 0
    check_same(run.output, whole)


@pytest.mark.parametrize(("ranks", "later"), [(None, 3), (3, 1), (2, 5)], ids=["1-3", "3-1", "2-5"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1"])
def test_one_to_the_job_stops_it(
    name: str, ranks: int | None, later: int, start: Start, tally: Program, whole: Path
) -> None:
    """Launchers send SIGUSR1 on to the ranks. After SIGTERM Open MPI's says 1 whatever they say, and leaves them a second,
    in which they may be through, or keep nothing: then the result is complete, or absent."""
    run, process = start(*ON_SIGNAL, ranks=ranks)
    send_while_held(process, ranks_of(process, tally.binary) or [process.pid], signal.Signals[name])
    if ranks is None or name in tally.mpi.passed_on:
        check_stopped(run, process)
        return check_resumed(run, whole, later)
    assert finish(process, LIMIT_S).code == 1
    is_resumable = run.output.exists() and "progress" in run.names()
    assert not is_resumable or "report.json" not in run.names()
    run.resume(ranks=later)
    check_same(run.output, whole)
    return None


@pytest.mark.parametrize("rank", [0, 2])
def test_one_to_any_rank_stops_all(rank: int, start: Start, tally: Program, whole: Path) -> None:
    run, process = start(*ON_SIGNAL, ranks=3)
    os.kill(ranks_of(process, tally.binary)[rank], signal.SIGUSR2)
    check_stopped(run, process)
    assert {name.split(".")[1] for name in run.parts()} == {"rank-0", "rank-1", "rank-2"}
    check_resumed(run, whole, 2)


def test_a_second_one_ends_it_at_once_and_progress_stays(start: Start, whole: Path) -> None:
    run, process = start(*ALWAYS)
    before = run.parts()
    send_while_held(process, [process.pid], signal.SIGINT, signal.SIGTERM)
    ended = finish(process, LIMIT_S)
    assert ended.code == STOPPED and "the progress is kept, and --resume goes on from it" in ended.stderr
    assert run.parts() >= before
    assert all(event["event"] != "finished" for event in run.events())
    check_resumed(run, whole, 3)


@pytest.mark.parametrize("victims", ["all", "launcher"])
def test_progress_outlives_a_job_that_is_killed(victims: str, start: Start, tally: Program, whole: Path) -> None:
    run, process = start(*ALWAYS, ranks=3)
    ranks = ranks_of(process, tally.binary)
    for pid in [process.pid, *ranks] if victims == "all" else [process.pid]:
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    await_end(ranks)
    check_resumed(run, whole, 2)


def test_choices_of_the_first_run_are_made_again(start: Start, tally: Program, case: TaskCase) -> None:
    """Those that depend on a machine's speed: a resumed run has the batches and the kernels of the first."""
    run, process = start("--batch-size", "auto", "--tune", *ON_SIGNAL)
    send_while_held(process, [process.pid], signal.SIGUSR1)
    check_stopped(run, process)
    resumed = run.resume("--batch-size", "auto", "--tune", ranks=2)
    assert "the model runs in the way that it did before the run was resumed" in resumed.stderr
    assert "--batch-size auto chose" not in resumed.stderr
    assert run.report["samples"]["exactly_once"]


def test_scores_that_were_saved(tally: Program, tmp_path: Path) -> None:
    """Of classes `tally score` is stopped and resumed; of answers it starts anew."""
    samples = small.make_set(num_samples=1500)
    data, model = samples.write(tmp_path / "set.h5"), small.save_model(small.TinyNet(), tmp_path / "m.pt")
    first = Resumable(tally, TaskCase(model, data, ("--save", "labels,logits")), tmp_path / "first")
    first().must_succeed()
    saved = first.output / "predictions.h5"
    run = Resumable(tally, TaskCase(saved, data, ("--save", "labels,logits")), tmp_path / "run", command="score")
    whole = replace(run, output=tmp_path / "whole")
    whole().must_succeed()
    run.stop(*ON_SIGNAL, ranks=2)
    assert samples_behind(run.resume(ranks=3)) > 0
    check_same(run.output, whole.output)


def test_answers_that_were_saved(tally: Program, tmp_path: Path) -> None:
    case = task_cases.question_answering(tmp_path)
    first = Resumable(tally, case, tmp_path / "first")
    first().must_succeed()
    saved = TaskCase(first.output / "predictions.h5", case.data, ())
    run = Resumable(tally, saved, tmp_path / "run", command="score")
    assert "the run starts anew" in run.resume(ranks=2).stderr
    assert "there is nothing to do" in run.resume(ranks=3).stderr
    assert run.report["metrics"] == first.report["metrics"]
