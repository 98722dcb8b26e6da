# SPDX-License-Identifier: Apache-2.0
"""Tasks of lm-evaluation-harness: `tally evaluate` gives the harness's own figures, on one rank and on three."""

import functools
import importlib.util
import io
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import h5py
import pytest
from conftest import ROOT, Evaluate
from harness_tasks import NUM_DOCUMENTS, POSITIONS, TASKS, save_model, write_tasks
from ragged import texts

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("lm_eval") is None,
    reason="lm-evaluation-harness is not installed (data_tools/requirements-lm-eval.txt)",
)

EXAMPLES = (0, 2)
FIGURES = {
    "acc": "accuracy", "acc_norm": "accuracy_norm", "acc_bytes": "accuracy_bytes", "word_perplexity": "word_perplexity",
    "byte_perplexity": "byte_perplexity", "bits_per_byte": "bits_per_byte",
}  # fmt: skip


def prepare_here(*options: object) -> subprocess.CompletedProcess[str]:
    """prepare_lm_eval.py in this process, which has loaded the harness already."""
    tool, errors = importlib.import_module("prepare_lm_eval"), importlib.import_module("tally_data.errors")
    command = ["prepare_lm_eval", *map(str, options)]
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "argv", command), redirect_stdout(out), redirect_stderr(err):
        with pytest.raises(SystemExit) as ended:
            errors.run_tool("prepare_lm_eval", tool.main)
    return subprocess.CompletedProcess(command, ended.value.code, out.getvalue(), err.getvalue())


def export(net: Path, output: Path) -> Path:
    command = [sys.executable, ROOT / "data_tools" / "export_model.py", "--model", f"hf:{net}", "--output", output]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=300)
    return output


@dataclass(frozen=True)
class Case:
    """tokenizer: the folder of a model with its tokenizer; files: of the tasks."""

    folder: Path
    tokenizer: Path
    files: dict[str, Path]

    def prepare(self, task: str, *options: object) -> Path:
        output = self.folder / f"{task}.h5"
        words = ["--tasks", self.files[task], "--tokenizer", self.tokenizer, "--max-length", POSITIONS]
        done = prepare_here(*words, "--output", output, "--overwrite", *options)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1].startswith(f"wrote {output}: task '{task}', {NUM_DOCUMENTS} ")
        return output


def harness_figures(folder: Path, files: dict[str, Path]) -> dict[int, dict[str, dict[str, Any]]]:
    """By the number of examples; without its bootstrap."""
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    found, manager = {}, TaskManager(include_defaults=False)
    model = HFLM(pretrained=str(folder), device="cpu", batch_size=4)
    for examples in EXAMPLES:
        tasks = [str(file) for task, file in files.items() if examples == 0 or not is_of_texts(task)]
        words = {"num_fewshot": examples, "bootstrap_iters": 0, "log_samples": False, "task_manager": manager}
        results = simple_evaluate(model=model, tasks=tasks, **words)["results"]
        found[examples] = {
            task: {name.partition(",")[0]: value for name, value in figures.items()} for task, figures in results.items()
        }
    return found


def is_of_texts(task: str) -> bool:
    return task.endswith("texts")


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "with-bos"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    folder = tmp_path_factory.mktemp("harness")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
            patch.setenv(name, "1")
        patch.setenv("HF_HOME", str(folder / "cache"))
        save_model(folder / "net", request.param)
        files = write_tasks(folder)
        yield Case(folder, folder / "net", files)


@dataclass(frozen=True)
class Reference:
    """model: exported; figures[examples][task]: the harness's own, of the same model."""

    model: Path
    figures: dict[int, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def reference(case: Case) -> Reference:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lm_eval.evaluator.add_env_info", lambda results: None)  # asks other programs, for seconds
        logging.disable(logging.WARNING)
        figures = harness_figures(case.tokenizer, case.files)
        logging.disable(logging.NOTSET)
    return Reference(export(case.tokenizer, case.folder / "net.pt"), figures)


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("task", TASKS)
def test_figures_are_the_harness_s(task: str, examples: int, case: Case, reference: Reference, evaluate: Evaluate) -> None:
    if examples and is_of_texts(task):
        pytest.skip("texts have no examples before them")
    data = case.prepare(task, "--num-fewshot", examples)
    expected = {FIGURES[name]: value for name, value in reference.figures[examples][task].items() if name in FIGURES}
    assert expected
    results = [evaluate(reference.model, data, "--batch-size", 4, ranks=ranks) for ranks in (1, 3)]
    assert results[0].digests == results[1].digests
    for name, value in expected.items():
        found = results[0].value(name)
        assert found == value if name.startswith("accuracy") else found == pytest.approx(value, rel=1e-6), name
    if is_of_texts(task):
        assert results[0].report["units"]["total"] == NUM_DOCUMENTS
    else:
        assert 0.1 < expected["accuracy"] < 0.9


@pytest.mark.parametrize("case", [False], ids=["plain"], indirect=True)
def test_what_is_kept(case: Case) -> None:
    with h5py.File(case.prepare("plain_choices")) as file:
        assert texts(file["units/id"]) == [str(number) for number in range(NUM_DOCUMENTS)]
        assert texts(file["units/question"])[0].startswith("Question: ")
        assert all(text.endswith("é") for text in texts(file["choices/text"]))
        assert (file["lengths"][...] == POSITIONS).any()  # some are cut


NO_CHOICE = TASKS["plain_choices"].replace("{{choices.label.index(answerKey)}}", "{{[0, 7, 0][choices.text|length - 2]}}")
REFUSED = [
    ("output_type: generate_until\ndoc_to_text: x\ndoc_to_target: y", "scores texts that the model generates (generate_until)"),
    ("output_type: loglikelihood\ndoc_to_text: x\ndoc_to_target: y", "is of the output type loglikelihood, expected multiple_"),
    (TASKS["contexts"] + "process_results: !function functions.process_results", "by a function of its own (process_results)"),
    (NO_CHOICE, "document 1 of task 'bad' has the right choice 7, expected 0..2"),
    (TASKS["plain_texts"].replace("{{page}}", ""), "task 'bad' holds no token to score"),
    ("output_type: multiple_choice", "lm-evaluation-harness cannot load the task"),
]


@pytest.mark.parametrize("case", [False], ids=["plain"], indirect=True)
@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_what_is_refused(text: str, says: str, case: Case) -> None:
    shared = case.files["contexts"].read_text().partition("output_type")[0].partition("\n")[2]
    file, output = case.folder / "bad.yaml", case.folder / "bad.h5"
    file.write_text(f"task: bad\n{shared}{text}\n")
    done = prepare_here("--tasks", file, "--tokenizer", case.tokenizer, "--max-length", 48, "--output", output)
    assert done.returncode in (2, 3) and len(done.stderr.splitlines()) == 1 and says in done.stderr, done.stderr
    assert not output.exists()


@pytest.mark.parametrize("case", [False], ids=["plain"], indirect=True)
def test_names_and_lengths(case: Case) -> None:
    from lm_eval.tasks import TaskManager

    def refused(code: int, says: str, *options: object) -> None:
        words = ["--tokenizer", case.tokenizer, "--output", case.folder / "no.h5", *options]
        done = prepare_here(*words)
        assert done.returncode == code and len(done.stderr.splitlines()) == 1 and says in done.stderr, done.stderr

    refused(3, "missing.yaml' does not exist", "--tasks", case.folder / "missing.yaml", "--max-length", 48)
    refused(2, "tokens long, more than --max-length 5", "--tasks", case.files["plain_choices"], "--max-length", 5)
    without_defaults = functools.partial(TaskManager, include_defaults=False)
    with mock.patch("lm_eval.tasks.TaskManager", lambda include_path, **_: without_defaults(include_path=include_path)):
        refused(2, "knows no task 'no_such_task'", "--tasks", "no_such_task", "--max-length", 48)
    by_name = prepare_here(
        "--tasks", "plain_choices", "--include-path", case.folder, "--tokenizer", case.tokenizer,
        "--max-length", POSITIONS, "--output", case.folder / "by_name.h5",
    )  # fmt: skip
    assert by_name.returncode == 0, by_name.stderr
    assert (case.folder / "by_name.h5").read_bytes() == case.prepare("plain_choices").read_bytes()
