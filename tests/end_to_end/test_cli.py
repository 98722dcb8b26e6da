# SPDX-License-Identifier: Apache-2.0
"""What a person meets: help, versions, settings, the plan, inspection, progress, results and their replacement."""

import json
import re
from pathlib import Path

import pytest
import small
from conftest import Evaluate, Small
from launch import Program

COMMANDS = ("evaluate", "check", "score", "inspect", "compare", "watch")


def arguments(case: Small, *more: object) -> list[object]:
    return ["--model", case.model, "--data", case.data, *more]


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_general_help(tally: Program) -> None:
    texts = {tally(*words).must_succeed().stdout for words in ([], ["--help"], ["-h"], ["help"])}
    assert len(texts) == 1
    text = texts.pop()
    assert all(f"tally {command}" in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str, tally: Program) -> None:
    text = tally(command, "--help").must_succeed().stdout
    assert f"tally {command}" in text
    assert text == tally("help", command).must_succeed().stdout


def test_help_lists_options_and_metrics(tally: Program) -> None:
    text = tally("evaluate", "--help").stdout
    for option in ("model", "weights", "weights-key", "data", "output", "overwrite", "task", "outputs", "metrics",
                   "batch-size", "device", "reduce", "check-reduction", "threads", "stall-limit", "read-threads", "stage", "limit", "save", "gather-window", "spill-dir",
                   "progress", "config", "confusion-max-classes", "definitions", "threshold", "label-smoothing",
                   "class-weights", "calibration-bins", "curves", "on-nan", "intervals", "bootstrap-replicas", "seed"):  # fmt: skip
        assert f"--{option}" in text
    for metric in ("accuracy", "accuracy_top<k>", "loss", "f1_weighted", "auroc_macro", "exact_match", "spearman",
                   "ap_small", "ar100"):  # fmt: skip
        assert metric in text
    assert max(map(len, text.splitlines())) <= 100


def test_help_is_printed_once(tally: Program) -> None:
    once = tally("evaluate", "--help").stdout
    assert tally("evaluate", "--help", ranks=3).must_succeed().stdout == once


def test_version(tally: Program) -> None:
    text = tally("--version").must_succeed().stdout
    assert re.match(r"tally \d+\.\d+\.\d+ ", text)
    assert "LibTorch 2.11.0" in text
    assert "MPI" in text


@pytest.mark.parametrize(("words", "meant"), [
    (["evaluat", "--help"], "'evaluat' is no command of tally. Did you mean 'evaluate'?"),
    (["help", "compar"], "Did you mean 'compare'?"),
    (["train"], "'train' is no command of tally. See 'tally --help'."),
])  # fmt: skip
def test_a_mistyped_command(words: list[str], meant: str, tally: Program) -> None:
    tally(*words).must_fail(2, meant)


@pytest.mark.parametrize(("name", "meant"), [
    ("acuracy", "metric 'acuracy' is not known for the task multiclass. Did you mean 'accuracy'?"),
    ("loss,f0.50_macro", "metric 'f0.50_macro' is written 'f0.5_macro'"),
])  # fmt: skip
def test_a_mistyped_metric(name: str, meant: str, tally: Program, small_case: Small) -> None:
    tally("check", *arguments(small_case, "--metrics", name), ranks=2).must_fail(2, meant)


@pytest.mark.parametrize("ranks", [None, 3])
def test_check_prints_the_plan_and_writes_nothing(
    ranks: int | None, tally: Program, small_case: Small, tmp_path: Path
) -> None:
    run = tally("check", *arguments(small_case, "--batch-size", 8), ranks=ranks, cwd=tmp_path).must_succeed()
    for text in (str(small_case.model), str(small_case.data), "multiclass", "7 classes", "13 of 8 samples",
                 "  precision      model\n", "  form           TorchScript", "  output         a folder of its own, such as tally-"):  # fmt: skip
        assert text in run.stdout
    named = tally("check", *arguments(small_case), "--output", "here", ranks=ranks, cwd=tmp_path).must_succeed()
    assert named.stdout.endswith("  output         here\n")
    assert files_below(tmp_path) == []


def test_check_finds_what_evaluate_would_find(tally: Program, small_case: Small, tmp_path: Path) -> None:
    model = small.save_model(small.TinyNet(num_classes=9), tmp_path / "nine.pt")
    tally("check", "--model", model, "--data", small_case.data, ranks=2).must_fail(4, "9", "7")


def test_default_output_in_the_current_folder(tally: Program, small_case: Small, tmp_path: Path) -> None:
    (tmp_path / "set.h5").write_bytes(small_case.data.read_bytes())
    run = tally("evaluate", "--model", small_case.model, "--data", "set.h5", ranks=2, cwd=tmp_path).must_succeed()
    (output,) = tmp_path.glob("tally-*")
    assert re.fullmatch(r"tally-\d{8}T\d{6}Z-\d+", output.name)
    assert output.name in run.stdout
    assert files_below(output) == ["events.jsonl", "metrics.h5", "predictions.h5", "report.json"]


def test_table_for_people(small_case: Small, evaluate: Evaluate) -> None:
    result = evaluate(small_case.model, small_case.data)
    for text in ("accuracy", f"{result.value('accuracy'):.4f}", "loss", "f1_macro", str(result.folder)):
        assert text in result.run.stdout
    assert max(map(len, result.run.stdout.splitlines())) <= 120


def test_precedence_of_settings(tally: Program, small_case: Small, tmp_path: Path) -> None:
    config = tmp_path / "run.conf"
    config.write_text("# a comment\nbatch-size = 4\nlimit = 20\nprogress = off\n")

    def batch_size(name: str, env: dict[str, str], *more: object) -> int:
        options = arguments(small_case, "--config", config, "--output", tmp_path / name, *more)
        tally("evaluate", *options, env=env).must_succeed()
        found = small.report(tmp_path / name)
        assert found["samples"]["evaluated"] == 20
        return found["plan"]["batch_size"]

    assert batch_size("file", {}) == 4
    assert batch_size("environment", {"TALLY_BATCH_SIZE": "5"}) == 5
    assert batch_size("line", {"TALLY_BATCH_SIZE": "5"}, "--batch-size", 6) == 6


def test_unknown_key_of_a_config_file(tally: Program, small_case: Small, tmp_path: Path) -> None:
    config = tmp_path / "run.conf"
    config.write_text("batch-size = 4\nbatchsize = 4\n")
    run = tally("check", *arguments(small_case, "--config", config), ranks=2)
    run.must_fail(2, "run.conf", ":2", "batchsize", "batch-size")


def test_unknown_variables_are_warned_about(tally: Program, small_case: Small) -> None:
    env = {"TALLY_BACH_SIZE": "8", "TALLY_ENV": "x", "TALLY_BIN": "x", "TALLY_PYTHON": "x", "TALLY_DATA_DIR": "x"}
    env |= {"TALLY_ALLOW_SHARED_GPU": "1"}
    run = tally("check", *arguments(small_case), env=env, ranks=2).must_succeed()
    warnings = [line for line in run.stderr.splitlines() if "warning" in line]
    assert len(warnings) == 1
    assert "TALLY_BACH_SIZE" in warnings[0]


def test_metrics_that_are_asked_for(small_case: Small, evaluate: Evaluate) -> None:
    result = evaluate(small_case.model, small_case.data, "--metrics", "f1_macro,accuracy")
    assert set(result.report["metrics"]) == {"accuracy", "f1_macro"}
    whole = evaluate(small_case.model, small_case.data)
    assert result.value("f1_macro") == whole.value("f1_macro")


def test_confusion_matrix_is_kept_up_to_a_limit(small_case: Small, evaluate: Evaluate) -> None:
    limited = evaluate(small_case.model, small_case.data, "--confusion-max-classes", 6)
    whole = evaluate(small_case.model, small_case.data)
    assert limited.report["metrics"] == whole.report["metrics"]
    assert limited.report["per_class"] == whole.report["per_class"]
    inspected = {}
    for name, result in (("limited", limited), ("whole", whole)):
        file = result.folder / "metrics.h5"
        inspected[name] = file.exists() and b"confusion" in file.read_bytes()
    assert inspected == {"limited": False, "whole": True}


def test_threads_are_taken(small_case: Small, evaluate: Evaluate) -> None:
    one, two = (evaluate(small_case.model, small_case.data, "--threads", threads) for threads in (1, 2))
    assert one.report["digests"]["class"] != two.report["digests"]["class"]
    assert two.value("accuracy") == one.value("accuracy")


def test_threads_that_share_batches_change_no_digit(small_case: Small, evaluate: Evaluate) -> None:
    found = [evaluate(small_case.model, small_case.data, "--threads", 4, "--batch-size", size, ranks=ranks).report
             for ranks, size in ((1, 32), (1, 32), (2, 32), (3, 32), (2, "auto"), (1, 15))]  # fmt: skip
    assert all(report["digests"] == found[0]["digests"] for report in found[1:4])
    assert "at a time" in found[0]["environment"]["model_form"]
    tried = evaluate(small_case.model, small_case.data, "--threads", 4, "--batch-size", found[4]["plan"]["batch_size"])
    assert tried.report["digests"]["predictions"] == found[4]["digests"]["predictions"]
    assert any("a --batch-size of 16 or more would do" in note for note in found[5]["notes"])


def test_progress_lines(small_case: Small, tally: Program, tmp_path: Path) -> None:
    options = arguments(small_case, "--batch-size", 8, "--output", tmp_path / "run")
    for ranks in (1, 2):
        run = tally("evaluate", *options, "--progress", "log", "--overwrite", ranks=ranks).must_succeed()
        shown = [line for line in run.stderr.splitlines() if "103/103" in line]
        assert len(shown) == 1
        # Of rank 0's share alone it would not be the accuracy that the report gives.
        accuracy = json.loads((tmp_path / "run" / "report.json").read_text())["metrics"]["accuracy"]
        assert shown[0].endswith(f"accuracy {accuracy['value']:.4f}") == (ranks == 1)
        assert ("accuracy" in shown[0]) == (ranks == 1)
    quiet = tally("evaluate", *options, "--progress", "off", "--overwrite", ranks=2).must_succeed()
    assert "103/103" not in quiet.stderr


def test_events(small_case: Small, evaluate: Evaluate) -> None:
    result = evaluate(small_case.model, small_case.data, "--batch-size", 8, ranks=2)
    events = [json.loads(line) for line in (result.folder / "events.jsonl").read_text().splitlines()]
    progress = [event for event in events if event["event"] == "progress"]
    assert progress[-1]["samples_done"] == progress[-1]["samples_total"] == small.NUM_SAMPLES
    assert 0 <= progress[-1]["running_metrics"]["accuracy"] <= 1
    assert 0 < progress[-1]["running_samples"] <= small.NUM_SAMPLES
    assert "evaluate" in [event["name"] for event in events if event["event"] == "phase"]
    assert events[-1]["status"] == "complete"


def test_overwrite_replaces_a_result(small_case: Small, tally: Program, tmp_path: Path) -> None:
    output = tmp_path / "run"
    options = arguments(small_case, "--output", output, "--progress", "off")
    tally("evaluate", *options).must_succeed()
    first = small.report(output)
    tally("evaluate", *options).must_fail(6, str(output), "--overwrite")
    assert small.report(output) == first
    tally("evaluate", *options, "--limit", 10, "--save", "none", "--overwrite", ranks=2).must_succeed()
    assert small.report(output)["samples"]["evaluated"] == 10
    assert files_below(output) == ["events.jsonl", "metrics.h5", "report.json"]


def test_a_failed_overwrite_keeps_the_earlier_result(small_case: Small, tally: Program, tmp_path: Path) -> None:
    output = tmp_path / "run"
    options = ["--model", small_case.model, "--output", output, "--progress", "off"]
    tally("evaluate", *options, "--data", small_case.data).must_succeed()
    kept = {name: (output / name).read_bytes() for name in ("report.json", "predictions.h5", "metrics.h5")}
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(small_case.data.read_bytes()[:-100])
    tally("evaluate", *options, "--data", damaged, "--overwrite", ranks=2).must_fail(3, "damaged.h5")
    assert {name: (output / name).read_bytes() for name in kept} == kept


def test_card_beside_the_model(small_case: Small, tally: Program, tmp_path: Path) -> None:
    model = small.save_model(small.TinyNet(), tmp_path / "net.pt")
    recipe = {"scale": 1.0, "mean": [1.0, 2.0, 3.0], "std": [50.0, 50.0, 50.0], "channels": "BGR"}
    (tmp_path / "net.pt.json").write_text(json.dumps(small.card(normalisation=recipe)))
    run = tally("evaluate", "--model", model, "--data", small_case.data, "--output", tmp_path / "run").must_succeed()
    notes = [line for line in run.stderr.splitlines() if "normalisation" in line]
    assert len(notes) == 1
    assert "BGR" in notes[0]
    report = (tmp_path / "run" / "report.json").read_text()
    assert "normalisation of the model card" in report
