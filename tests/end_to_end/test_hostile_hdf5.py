# SPDX-License-Identifier: Apache-2.0
"""Files on which HDF5's own parser crashes, or never ends: one line and the right code, and no process is left."""

import shutil
from pathlib import Path

import pytest
from conftest import Evaluate, Result, Small
from hostile_hdf5 import write_crashing, write_endless, write_mutant
from launch import Program, Run, finish

RANKS = pytest.mark.parametrize("ranks", [None, 3], ids=["alone", "3ranks"])


@pytest.fixture(scope="module")
def result(small_case: Small, evaluate: Evaluate) -> Result:
    return evaluate(small_case.model, small_case.data, "--save", "labels,logits")


def run_in_session(tally: Program, *arguments: object, ranks: int | None = None) -> Run:
    """Fails where a process of the run outlives it."""
    process = tally.start(tally.command(*arguments, ranks=ranks), start_new_session=True)
    run = finish(process)
    assert processes_of(process.pid) == []
    return run


def processes_of(session: int) -> list[str]:
    """Those that still run, and probes that their rank did not wait for.

    Ranks that have ended are left to their launcher, and probes of ranks that were killed to init.
    """
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            content = status.read_text()
        except OSError:  # it has ended
            continue
        # Behind its name, which may hold anything.
        state, parent, _group, of_session = content.rpartition(")")[2].split()[:4]
        if of_session == str(session) and (state != "Z" or ("(tally-probe)" in content and parent != "1")):
            found.append(content)
    return found


@RANKS
@pytest.mark.parametrize("command", ["check", "evaluate", "score"])
def test_data_set(command: str, ranks: int | None, small_case: Small, result: Result, tally: Program,
                  tmp_path: Path) -> None:  # fmt: skip
    bad = write_crashing(small_case.data, tmp_path / "bad.h5")
    source = ["--predictions", result.folder] if command == "score" else ["--model", small_case.model]
    words = [command, *source, "--data", bad, "--output", tmp_path / "run"]
    run_in_session(tally, *words, ranks=ranks).must_fail(3, f"data set '{bad}'", "HDF5")
    assert not (tmp_path / "run").exists()


@RANKS
def test_data_set_without_end(ranks: int | None, small_case: Small, tally: Program, tmp_path: Path) -> None:
    bad = write_endless(small_case.data, tmp_path / "bad.h5")
    run = run_in_session(tally, "check", "--model", small_case.model, "--data", bad, ranks=ranks)
    run.must_fail(3, f"data set '{bad}' is damaged or hostile: HDF5's own parser finds no end in it (2 s)", "again.")


@pytest.mark.parametrize("options", [[], ["--verify"], ["--add-checksums", "copy.h5"]])
def test_inspecting_a_data_set(options: list[str], small_case: Small, tally: Program, tmp_path: Path) -> None:
    bad = write_crashing(small_case.data, tmp_path / "bad.h5")
    tally("inspect", bad, *options, cwd=tmp_path).must_fail(3, f"data set '{bad}'", "HDF5")
    assert list(tmp_path.iterdir()) == [bad]


@RANKS
def test_shard(ranks: int | None, small_case: Small, tally: Program, tmp_path: Path) -> None:
    index = small_case.samples.write_shards(tmp_path / "small.shards.json", 3)
    bad = tmp_path / "part-1.h5"
    bad.rename(tmp_path / "good.h5")
    write_crashing(tmp_path / "good.h5", bad)
    run = run_in_session(tally, "check", "--model", small_case.model, "--data", index, ranks=ranks)
    run.must_fail(3, f"data set '{bad}'", f"It is a shard of '{index}'.")


@RANKS
def test_predictions(ranks: int | None, small_case: Small, result: Result, tally: Program, tmp_path: Path) -> None:
    bad = write_crashing(result.folder / "predictions.h5", tmp_path / "predictions.h5")
    words = ["score", "--predictions", tmp_path, "--data", small_case.data, "--output", tmp_path / "run"]
    run_in_session(tally, *words, ranks=ranks).must_fail(3, f"predictions file '{bad}'", "HDF5")


def test_comparing_and_inspecting_results(small_case: Small, result: Result, tally: Program, tmp_path: Path) -> None:
    bad = write_crashing(result.folder / "predictions.h5", tmp_path / "predictions.h5")
    for words in (["compare", result.folder, bad], ["compare", bad, result.folder]):
        run_in_session(tally, *words).must_fail(3, f"predictions file '{bad}'", "HDF5")
    for options in ([], ["--worst", "3"]):
        tally("inspect", bad, *options).must_fail(3, str(bad), "HDF5")
    shutil.copyfile(result.folder / "predictions.h5", bad)
    metrics = write_crashing(result.folder / "metrics.h5", tmp_path / "metrics.h5")
    tally("inspect", metrics).must_fail(3, str(metrics), "HDF5")
    tally("compare", tmp_path, result.folder).must_fail(3, f"metrics file '{metrics}'", "HDF5")


def test_names_of_samples_are_left_out(small_case: Small, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    """The data set of a result is only opened for names."""
    data = tmp_path / "small.h5"
    shutil.copyfile(small_case.data, data)
    saved = evaluate(small_case.model, data, "--save", "labels,logits")
    write_crashing(small_case.data, data)
    for words in (["compare", saved.folder, saved.folder], ["inspect", saved.folder, "--worst", "3"]):
        tally(*words).must_succeed()


def test_earlier_result_that_is_overwritten(small_case: Small, result: Result, tally: Program, tmp_path: Path) -> None:
    """Without a report its mark says whether it is one of tally's."""
    bad = write_crashing(result.folder / "metrics.h5", tmp_path / "metrics.h5")
    words = ["evaluate", "--model", small_case.model, "--data", small_case.data, "--output", tmp_path, "--overwrite"]
    run_in_session(tally, *words, ranks=3).must_fail(6, "holds 'metrics.h5', which no run of tally wrote")
    assert list(tmp_path.iterdir()) == [bad]


@pytest.mark.parametrize("kind", ["data set", "predictions"])
def test_few_mutants_of_many(kind: str, small_case: Small, result: Result, tally: Program, tmp_path: Path) -> None:
    """The tests of the rooms read many more."""
    path = tmp_path / "mutant.h5"
    good = small_case.data if kind == "data set" else result.folder / "predictions.h5"
    score = ["score", "--data", small_case.data, "--progress", "off"]
    commands = {
        "data set": [["inspect", path], ["check", "--model", small_case.model, "--data", path]],
        "predictions": [["inspect", path], ["compare", path, good], [*score, "--predictions", path]],
    }
    for seed in range(24):
        write_mutant(good, path, seed)
        words = [*commands[kind][seed % len(commands[kind])]]
        if words[0] == "score":
            words += ["--output", tmp_path / f"run{seed}"]
        run = tally(*words)
        if run.code != 0:
            run.must_fail(run.code)
        # What the file says of itself may also name another task, or a file that is none.
        assert run.code in (0, 2, 3), seed
