# SPDX-License-Identifier: Apache-2.0
"""tally watch: each complete checkpoint once, as evaluated one by one; restarts; when it ends."""

import json
import os
import signal
from pathlib import Path

import pytest
import torch
from conftest import Small
from launch import Program
from small import TinyNet
from watch_runs import (
    Watch, evaluated, lines_of, model_and_data, name_of, table_of, write_accuracies, write_checkpoint, write_half,
)  # fmt: skip


def one_by_one(tally: Program, small_case: Small, checkpoint: Path, output: Path) -> dict:
    tally("evaluate", *model_and_data(small_case), "--weights", checkpoint, "--output", output).must_succeed()
    return json.loads((output / "report.json").read_text())


@pytest.mark.parametrize("ranks", [None, 3])
def test_data_that_are_written_to_end_it(
    tally: Program, small_case: Small, folder: Path, tmp_path: Path, ranks: int | None
) -> None:
    data, output = tmp_path / "data.h5", tmp_path / "out"
    data.write_bytes(small_case.data.read_bytes())
    options = ("--model", small_case.model, "--data", data, "--batch-size", 8)
    write_checkpoint(folder, 1)
    with Watch(tally, folder, output, *options, ranks=ranks) as watch:
        watch.until_lines(1)
        with data.open("r+b") as file:
            file.write(small_case.data.read_bytes())
        write_checkpoint(folder, 2)
        run = watch.end()
    assert run.code == 3, run.stderr
    assert "data.h5' changed while it was read" in run.stderr
    assert [line["step"] for line in lines_of(output)] == [1]
    assert [path.name for path in (output / "results").iterdir()] == [name_of(1)]


@pytest.mark.parametrize("ranks", [None, 3])
def test_thirty_checkpoints(tally: Program, small_case: Small, folder: Path, tmp_path: Path, ranks: int | None) -> None:
    """They appear while it runs, some half-written at first, one broken; a restart in the middle."""
    output = tmp_path / "out"
    arguments = (*model_and_data(small_case), "--patience", 1000)
    with Watch(tally, folder, output, *arguments, ranks=ranks) as watch:
        rests = {}
        for step in range(1, 16):
            if step % 5 == 0:
                rests[step] = write_half(folder, step)
            else:
                write_checkpoint(folder, step)
        watch.until_lines(8)
        for write_rest in rests.values():
            write_rest()
        watch.until(lambda: {line["step"] for line in evaluated(output)} >= set(range(1, 16)), "the first half")
        run = watch.send(signal.SIGTERM if ranks is None else signal.SIGUSR1)
    assert run.code == 75, run.stderr
    assert "the same command goes on from here" in run.stdout
    assert json.loads((output / "watch.json").read_text())["ended"] is None
    first = evaluated(output)

    with Watch(tally, folder, output, *arguments, ranks=ranks) as watch:
        (folder / name_of(16)).write_bytes(b"PK\x03\x04 no checkpoint")
        for step in range(17, 31):
            write_checkpoint(folder, step)
        (folder / "done").touch()
        run = watch.end().must_succeed()
    assert json.loads((output / "watch.json").read_text())["ended"] is not None
    lines = evaluated(output)
    assert lines[: len(first)] == first
    assert sorted(line["step"] for line in lines) == [*range(1, 16), *range(17, 31)]
    broken = {line["step"] for line in lines_of(output) if line["status"] == "broken"}
    assert 16 in broken
    assert broken <= {5, 10, 15, 16}  # those that were cut for long
    assert f"{name_of(16)}' is passed over" in run.stderr

    for line in lines[::7]:
        report = one_by_one(tally, small_case, Path(line["path"]), tmp_path / f"single-{line['step']}")
        assert line["state_digest"] == report["digests"]["state"]
        figures = {name: figure["value"] for name, figure in line["metrics"].items()}
        assert figures == {name: figure["value"] for name, figure in report["metrics"].items()}
        result = json.loads((output / line["result"] / "report.json").read_text())
        assert result["digests"]["predictions"] == report["digests"]["predictions"]
        assert result["inputs"]["weights"] == report["inputs"]["weights"]
        assert line["weights_sha256"] == report["inputs"]["weights"]["tensors_sha256"]
    assert [float(row["accuracy"]) for row in table_of(output)] == [
        line["metrics"]["accuracy"]["value"] for line in lines
    ]
    best = max(lines, key=lambda line: line["metrics"]["accuracy"]["value"])
    assert os.readlink(output / "best") == best["path"]


def test_stops_early_at_the_right_one(tally: Program, small_case: Small, folder: Path, tmp_path: Path) -> None:
    # The model is its own best weights: nothing that comes after gains on it.
    module = torch.jit.load(str(small_case.model))
    torch.save(module.state_dict(), folder / name_of(2))
    for step in (1, 3, 4, 5, 6, 7):
        write_checkpoint(folder, step, seed=100 + step)
    output = tmp_path / "out"
    run = tally("watch", "--checkpoints", folder, "--output", output, *model_and_data(small_case), "--poll", 0.05,
                "--patience", 3, "--progress", "off").must_succeed()  # fmt: skip
    assert [line["step"] for line in lines_of(output)] == [1, 2, 3, 4, 5]
    stop = json.loads((output / "stop.json").read_text())
    assert stop["stop"] is True
    assert stop["best"]["step"] == 2
    assert stop["last"]["step"] == 5
    assert "Training can stop" in run.stdout
    assert f"{name_of(2)} (step 2), accuracy" in run.stdout
    assert "3 of 3 without a gain" in run.stdout

    again = tally("watch", "--checkpoints", folder, "--output", output, *model_and_data(small_case), "--poll", 0.05,
                  "--patience", 3, "--progress", "off").must_succeed()  # fmt: skip
    assert len(lines_of(output)) == 5
    assert "Training can stop" in again.stdout
    # With more patience it goes on, and no trainer is told to stop any more.
    tally("watch", "--checkpoints", folder, "--output", output, *model_and_data(small_case), "--poll", 0.05,
          "--patience", 9, "--stop-after", 7, "--progress", "off").must_succeed()  # fmt: skip
    assert len(lines_of(output)) == 7
    assert not (output / "stop.json").exists()


def test_monitors_what_it_is_told(tally: Program, small_case: Small, folder: Path, tmp_path: Path) -> None:
    write_accuracies(folder, [11, 12, 13])
    output = tmp_path / "out"
    tally("watch", "--checkpoints", folder, "--output", output, *model_and_data(small_case), "--poll", 0.05,
          "--monitor", "loss", "--keep-best", "copy", "--save", "none").must_succeed()  # fmt: skip
    best = min(lines_of(output), key=lambda line: line["metrics"]["loss"]["value"])
    assert not (output / "best").is_symlink()
    assert (output / "best").read_bytes() == Path(best["path"]).read_bytes()


def test_nan_weights_cost_no_more_than_themselves(
    tally: Program, small_case: Small, folder: Path, tmp_path: Path
) -> None:
    write_accuracies(folder, [11, 12, 13])
    state = TinyNet(seed=5).state_dict()
    state["linear.bias"][:] = float("nan")
    torch.save(state, folder / name_of(2))
    output = tmp_path / "out"
    run = tally("watch", "--checkpoints", folder, "--output", output, *model_and_data(small_case), "--poll", 0.05,
                ranks=2).must_succeed()  # fmt: skip
    assert [(line["step"], line["status"]) for line in lines_of(output)] == [
        (1, "evaluated"), (2, "broken"), (3, "evaluated"),
    ]  # fmt: skip
    reason = lines_of(output)[1]["reason"]
    assert "NaN" in reason
    assert f"'{name_of(2)}' is passed over: {reason}" in run.stderr
    assert "error[" not in run.stderr
    assert not (output / "results" / name_of(2)).exists()
    tally("watch", "--checkpoints", folder, "--output", output, *model_and_data(small_case), "--poll", 0.05)
    assert len(lines_of(output)) == 3  # it was read, and is not evaluated again


def test_another_model_s_checkpoints_are_passed_over(
    tally: Program, small_case: Small, folder: Path, tmp_path: Path
) -> None:
    torch.save(torch.nn.Linear(2, 2).state_dict(), folder / name_of(1))
    write_checkpoint(folder, 2)
    (folder / "done").touch()
    output = tmp_path / "out"
    arguments = ("watch", "--checkpoints", folder, "--output", output, *model_and_data(small_case), "--poll", 0.05)
    tally(*arguments).must_succeed()
    assert {line["step"]: line["status"] for line in lines_of(output)} == {1: "broken", 2: "evaluated"}
    assert "do not fit model" in next(line for line in lines_of(output) if line["step"] == 1)["reason"]


def test_what_could_not_be_read_is_tried_again(
    tally: Program, small_case: Small, folder: Path, tmp_path: Path
) -> None:
    """By the next watch: a mount that was mended changes no file's time."""
    path = write_checkpoint(folder, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100] + bytes(100))
    time = path.stat().st_mtime_ns
    (folder / "done").touch()
    output = tmp_path / "out"
    arguments = ("watch", "--checkpoints", folder, "--output", output, *model_and_data(small_case), "--poll", 0.05)
    for _ in range(2):
        run = tally(*arguments).must_succeed()
        assert f"'{name_of(1)}' is passed over" in run.stderr
        assert [line["status"] for line in lines_of(output)] == ["broken"]
    path.write_bytes(whole)
    os.utime(path, ns=(time, time))
    tally(*arguments).must_succeed()
    assert [line["status"] for line in lines_of(output)] == ["broken", "evaluated"]


def test_a_file_written_anew_is_another_checkpoint(
    tally: Program, small_case: Small, folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    write_checkpoint(folder, 1, name="last.pt")
    with Watch(tally, folder, output, *model_and_data(small_case)) as watch:
        watch.until_lines(1)
        write_checkpoint(folder, 2, name="last.pt")
        watch.until_lines(2)
        (folder / "done").touch()
        watch.end().must_succeed()
    one, two = lines_of(output)
    assert (one["result"], two["result"]) == ("results/last.pt", "results/last.pt-2")
    assert one["state_digest"] != two["state_digest"]
    assert one["step"] is None


def test_time_limit_and_stop_after(tally: Program, small_case: Small, folder: Path, tmp_path: Path) -> None:
    write_accuracies(folder, [11, 12, 13])
    arguments = ("watch", "--checkpoints", folder, *model_and_data(small_case), "--poll", 0.05)
    output = tmp_path / "out"
    run = tally(*arguments, "--output", output, "--stop-after", 2, "--min-delta", 0.1).must_succeed()
    assert "--min-delta changes nothing" in run.stderr
    assert len(lines_of(output)) == 2
    (folder / "done").unlink()
    # Nothing is slept over: the next look would be in an hour.
    run = tally(*arguments[:-1], 3600, "--output", tmp_path / "timed", "--time-limit", 3)
    assert run.code == 75, run.stderr


def test_a_best_that_was_overwritten_is_not_taken_again(
    tally: Program, small_case: Small, folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    linked = ("watch", "--checkpoints", folder, *model_and_data(small_case), "--poll", 0.05, "--output")
    arguments = (*linked, output, "--keep-best", "copy")
    torch.save(torch.jit.load(str(small_case.model)).state_dict(), folder / "last.pt")
    best = (folder / "last.pt").read_bytes()
    tally(*arguments, "--stop-after", 1).must_succeed()
    tally(*linked, tmp_path / "linked", "--stop-after", 1).must_succeed()
    assert (tmp_path / "linked" / "best").read_bytes() == best
    write_checkpoint(folder, 9, seed=99, name="last.pt")
    run = tally(*arguments, "--stop-after", 2).must_succeed()
    assert len(evaluated(output)) == 2
    assert (output / "best").read_bytes() == best
    assert run.stderr.count("is not there as it was") == 1
    run = tally(*linked, tmp_path / "linked", "--stop-after", 2).must_succeed()
    assert not os.path.lexists(tmp_path / "linked" / "best")  # it would be other weights
    assert run.stderr.count("is not there as it was") == 1


def test_results_have_folders_of_their_own(tally: Program, small_case: Small, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    for step, name in enumerate(("a", "a-2"), start=1):  # the second is what a second "a" would be called
        (folder / name).mkdir()
        write_checkpoint(folder / name, step, name="pytorch_model.bin")
    with Watch(tally, folder, output, *model_and_data(small_case)) as watch:
        watch.until_lines(2)
        write_checkpoint(folder / "a", 3, name="pytorch_model.bin")
        watch.until_lines(3)
        (folder / "done").touch()
        watch.end().must_succeed()
    results = [line["result"] for line in evaluated(output)]
    assert len(set(results)) == 3
    for line in evaluated(output):
        report = json.loads((output / line["result"] / "report.json").read_text())
        assert report["digests"]["state"] == line["state_digest"]
