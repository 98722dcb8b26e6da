# SPDX-License-Identifier: Apache-2.0
"""A run that is asked to end, or loses a rank or its data, ends soon and leaves no half-written result."""

import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import odd_models
import pytest
import small
from conftest import Small
from corrupt import flip_byte
from launch import Program, finish
from running import await_end, ranks_of, wait_until

LIMIT_S = 30
RANKS = pytest.mark.parametrize("ranks", [None, 3], ids=["alone", "3ranks"])
Start = Callable[..., subprocess.Popen]


@pytest.fixture(scope="module")
def slow_model(small_case: Small) -> Path:
    """A batch takes about a tenth of a second."""
    return small.save_model(odd_models.Slow(rounds=3_000), small_case.folder / "slow.pt")


@pytest.fixture
def start(tally: Program, slow_model: Path, small_case: Small) -> Iterator[Start]:
    """Starts a slow run and returns when its loop has begun."""
    started: list[subprocess.Popen] = []

    def run(
        output: Path, *options: object, data: Path = small_case.data, ranks: int | None = None
    ) -> subprocess.Popen:
        command = tally.command(
            "evaluate", "--model", slow_model, "--data", data, "--output", output, "--batch-size", 8,
            "--progress", "off", *options, ranks=ranks,
        )  # fmt: skip
        process = tally.start(command)
        started.append(process)
        events = output / "events.jsonl"
        wait_until(lambda: events.exists() and "evaluate" in events.read_text(), process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def is_resumable(output: Path) -> bool:
    return {path.name for path in output.iterdir()} == {"events.jsonl", "progress"}


def is_resumable_after_kill(output: Path) -> bool:
    """The launcher kills a rank 0 that waits for a rank that is gone."""
    left = {path.name for path in output.iterdir()} - {".tally-lock", ".tally-replacing"}
    return left == {"events.jsonl", "progress"}


def is_left_in_order(output: Path, others: list[Path], program: Program) -> bool:
    """Nothing is left, or what can be resumed. A launcher that kills at once leaves what a power cut leaves, for the
    next run to tidy."""
    if not program.mpi.warns_before_kill:
        return not (output / "report.json").exists()
    return others == [] or is_resumable(output)


@RANKS
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_asked_to_end(name: str, ranks: int | None, tally: Program, start: Start, tmp_path: Path) -> None:
    """Progress stays, and nothing else; where the launcher ends its ranks in the midst of a batch, nothing at all."""
    output = tmp_path / "results" / "run"
    process = start(output, "--trace", tmp_path / "trace.json", ranks=ranks)
    assert [path.name.split("-")[0] for path in tmp_path.glob("trace*")] == ["trace.json.partial"]
    process.send_signal(signal.Signals[name])
    ended = finish(process, LIMIT_S)
    if ranks is None or name in tally.mpi.passed_on:
        assert ended.code == 75 and is_resumable(output), ended.stderr
    else:
        assert ended.code != 0
        assert is_left_in_order(output, list(tmp_path.iterdir()), tally)
    assert list(tmp_path.glob("trace*")) == [] or not tally.mpi.warns_before_kill


@RANKS
def test_asked_to_end_while_replacing_a_result(
    ranks: int | None, tally: Program, start: Start, small_case: Small, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    tally("evaluate", "--model", small_case.model, "--data", small_case.data, "--output", output).must_succeed()
    kept = {name: (output / name).read_bytes() for name in ("report.json", "predictions.h5", "metrics.h5")}
    process = start(output, "--overwrite", ranks=ranks)
    # The events that `start` has seen are those of the earlier result.
    wait_until((output / ".tally-replacing").exists, process)
    events = output / "events.jsonl"
    wait_until(lambda: events.exists() and "evaluate" in events.read_text(), process)
    process.send_signal(signal.SIGTERM)
    assert finish(process, LIMIT_S).code != 0
    assert {path.name: path.read_bytes() for path in output.iterdir() if path.name in kept} == kept
    assert {path.name for path in output.iterdir()} <= {*kept, "events.jsonl", "progress"}


@RANKS
@pytest.mark.parametrize("option", [[], ["--stage"]], ids=["read", "staged"])
def test_its_data_are_written_to(
    option: list[str], ranks: int | None, start: Start, small_case: Small, tmp_path: Path
) -> None:
    """Without checksums nothing else would tell."""
    data, output = small_case.samples.write(tmp_path / "plain.h5", checksums=False), tmp_path / "results" / "run"
    stage = [*option, tmp_path] if option else []
    process = start(output, "--limit", 48, *stage, data=data, ranks=ranks)
    with data.open("r+b") as file:
        file.write(data.read_bytes())
    finish(process, LIMIT_S).must_fail(3, "plain.h5' changed while it was read", f": {data.stat().st_size} bytes")
    assert {path.name for path in tmp_path.rglob("*")} == {"plain.h5", "results", "run.error.json"}


@RANKS
def test_its_data_are_replaced(ranks: int | None, start: Start, small_case: Small, tmp_path: Path) -> None:
    """The file that was opened is the one that is read."""
    data, output = small_case.samples.write(tmp_path / "plain.h5", checksums=False), tmp_path / "run"
    process = start(output, "--limit", 48, data=data, ranks=ranks)
    small.make_set(num_samples=5).write(tmp_path / "other.h5").replace(data)
    assert finish(process, LIMIT_S).must_succeed()
    assert small.report(output)["samples"]["evaluated"] == 48


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_is_killed(victim: int, tally: Program, start: Start, tmp_path: Path) -> None:
    output = tmp_path / "run"
    process = start(output, ranks=3)
    ranks = ranks_of(process, tally.binary)
    assert len(ranks) == 3
    os.kill(ranks[victim], signal.SIGKILL)
    assert finish(process, LIMIT_S).code != 0
    assert not (output / "report.json").exists()
    # A killed rank 0 cannot clean up behind itself. The others keep their progress if a batch ends in time.
    can_clean_up = victim != 0 and tally.mpi.warns_before_kill
    assert not can_clean_up or not output.exists() or is_resumable_after_kill(output)


@pytest.mark.parametrize("sent", [["SIGINT", "SIGINT"], ["SIGKILL"]], ids="-".join)
def test_the_launcher_leaves_its_ranks(sent: list[str], tally: Program, start: Start, tmp_path: Path) -> None:
    """Open MPI's mpirun is gone at once after a second signal, and its ranks go on without it."""
    process = start(tmp_path / "run", ranks=3)
    ranks = ranks_of(process, tally.binary)
    for name in sent:
        process.send_signal(signal.Signals[name])
    assert process.wait(LIMIT_S) != 0
    await_end(ranks)
    assert is_left_in_order(tmp_path / "run", list(tmp_path.iterdir()), tally)


def test_its_files_may_not_grow(start: Start, tmp_path: Path) -> None:
    """The limit comes when MPI has started, which needs large files of its own."""
    process = start(tmp_path / "results" / "run", "--limit", 48)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1024, 1024))
    finish(process, LIMIT_S).must_fail(6, "File too large")
    # The limit is one for what tells of the failure, too, which is shorter.
    assert {path.name for path in tmp_path.rglob("*")} == {"results", "run.error.json"}


def test_two_runs_want_one_folder(tally: Program, start: Start, small_case: Small, tmp_path: Path) -> None:
    output = tmp_path / "run"
    first = start(output)
    second = ["--model", small_case.model, "--data", small_case.data, "--output", output]
    tally("evaluate", *second).must_fail(6, str(output))
    tally("evaluate", *second, "--overwrite").must_fail(6, "in use by another run", str(output))
    assert first.poll() is None
    first.send_signal(signal.SIGTERM)
    assert finish(first, LIMIT_S).code == 75
    assert is_resumable(output)
    tally("evaluate", *second).must_fail(6, "holds the progress of a run", "--resume")


def test_asked_to_end_while_adding_checksums(tally: Program, tmp_path: Path) -> None:
    samples = small.make_set(num_samples=100)
    many = small.SmallSet(samples.images.repeat(15_000, axis=0), samples.labels.repeat(15_000))
    data = many.write(tmp_path / "plain.h5", checksums=False)
    process = tally.start(tally.command("inspect", data, "--add-checksums", tmp_path / "checked.h5"))
    wait_until(lambda: len(list(tmp_path.iterdir())) > 1, process)
    process.send_signal(signal.SIGTERM)
    assert finish(process, LIMIT_S).code == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == [data]


def test_a_lone_process_ends_with_its_line_alone(tally: Program, small_case: Small, tmp_path: Path) -> None:
    """A failure in the loop ends the job; without a launcher nothing else has anything to say."""
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(small_case.data.read_bytes())
    flip_byte(damaged, "/inputs/image", 5000)
    run = tally("evaluate", "--model", small_case.model, "--data", damaged, "--output", tmp_path / "run")
    run.must_fail(3, "damaged.h5")
    assert all(line.startswith("tally: ") for line in run.stderr.splitlines())


def test_outputs_of_a_model_without_a_card_are_said_to_be_logits(
    tally: Program, small_case: Small, tmp_path: Path
) -> None:
    model = small.save_model(small.TinyNet(), tmp_path / "plain.pt")
    options = ["check", "--model", model, "--data", small_case.data]
    assert "taken as logits" in tally(*options).must_succeed().stderr
    assert "taken as logits" not in tally(*options, "--outputs", "logits").must_succeed().stderr
