# SPDX-License-Identifier: Apache-2.0
"""What tally watch does not take: other words, other inputs than it began with, a folder that is taken."""

import json
from pathlib import Path

import small
import torch
from conftest import Small
from launch import Program
from watch_runs import Watch, model_and_data, name_of, write_accuracies, write_checkpoint


def test_refusals(tally: Program, small_case: Small, folder: Path, tmp_path: Path) -> None:
    write_accuracies(folder, [11])
    output = tmp_path / "out"
    arguments = ("watch", "--checkpoints", folder, *model_and_data(small_case), "--poll", 0.05, "--output", output)
    tally(*arguments, "--monitor", "acuracy").must_fail(2, "'acuracy' is not computed", "Did you mean 'accuracy'?")
    tally(*arguments, "--monitor", "confusion_matrix").must_fail(2, "'confusion_matrix' is no single number")
    tally(*arguments[:2], tmp_path / "none", *arguments[3:]).must_fail(5, str(tmp_path / "none"), "Make it")
    tally(*arguments[:2], small_case.data, *arguments[3:]).must_fail(5, "is no folder")
    assert not output.exists()
    tally(*arguments).must_succeed()
    tally(*arguments, "--limit", 10).must_fail(6, "was made with another --limit", "Name another folder")
    config = tmp_path / "other.conf"
    config.write_text("")
    tally(*arguments, "--config", config).must_succeed()  # the same options from elsewhere
    tally("watch", *arguments[3:]).must_fail(2, "--checkpoints")
    tally("inspect", output).must_fail(2, "is the folder of a watch", "results/")
    assert "accuracy" in tally("inspect", output / "results" / name_of(1)).must_succeed().stdout
    tally(*arguments[:-1], folder).must_fail(2, "--output is the folder of the checkpoints")
    (output / "watch.json").write_text('{"schema": 1}')
    tally(*arguments).must_fail(6, "was written by another version of tally")
    (output / "watch.json").write_text('{"schema": 2, "model": [1]}')
    tally(*arguments).must_fail(6, "holds a damaged watch.json")


def test_files_that_decide_figures_stay_the_same(
    tally: Program, small_case: Small, folder: Path, tmp_path: Path
) -> None:
    write_accuracies(folder, [11])
    model, card, weights = tmp_path / "net.pt", tmp_path / "net.pt.json", tmp_path / "weights.txt"
    torch.jit.save(torch.jit.load(small_case.model), model)  # without the card in it
    card.write_text(json.dumps(small.card()))
    weights.write_text("1\n" * small.NUM_CLASSES)
    arguments = ("watch", "--checkpoints", folder, "--model", model, "--data", small_case.data, "--poll", 0.05,
                 "--class-weights", weights, "--output", tmp_path / "out")  # fmt: skip
    tally(*arguments).must_succeed()
    tally(*arguments).must_succeed()
    weights.write_text("2\n" * small.NUM_CLASSES)
    tally(*arguments).must_fail(6, "was made with other class weights")
    weights.write_text("1\n" * small.NUM_CLASSES)
    card.write_text(json.dumps(small.card() | {"source": {"model": "another"}}))
    tally(*arguments).must_fail(6, "was made with another card beside the model")


def test_one_watch_a_folder(tally: Program, small_case: Small, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    write_checkpoint(folder, 1)
    with Watch(tally, folder, output, *model_and_data(small_case)) as watch:
        watch.until_lines(1)
        tally("watch", "--checkpoints", folder, *model_and_data(small_case), "--output", output).must_fail(
            6, "another process watches into"
        )
        (folder / "done").touch()
        watch.end().must_succeed()
