# SPDX-License-Identifier: Apache-2.0
"""Of every task a run that is stopped, killed and resumed, each time on another number of ranks: the result is the same."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import test_tasks
from launch import Program
from resumed_runs import ALWAYS, Resumable, Strike, check_same, state_digest
from task_cases import TASK_CASES, TaskCase

BOOTSTRAP = ("--intervals", "bootstrap", "--bootstrap-replicas", 20)
# Of a run that is stopped, one that is killed and one that comes to its end; which operation on its progress kills.
RANKS = ((1, 3, 2), (3, 2, 1), (5, 1, 3), (2, 5, 3))
AT = (2, 3, 5, 7)
CLASSES_AND_VALUES = {
    "multiclass": ("--save", "labels,topk,probabilities,logits"),
    "binary": ("--save", "labels,probabilities,logits"),
    "multilabel": ("--save", "labels,probabilities"),
    "regression": ("--save", "labels"),
}
SORTED = {"--bucket-batches": 2, "--intervals": "bootstrap", "--bootstrap-replicas": 20}
MORE = {
    "segmentation": {"--intervals": "bootstrap", "--bootstrap-replicas": 20},
    "language_model": SORTED,
    "token_classification": SORTED,
    "question_answering": SORTED,
    "multiple_choice": SORTED,
}



def make_case(task: str, folder: Path) -> TaskCase:
    if task in TASK_CASES:
        case = TASK_CASES[task](folder)
        own = dict(zip(case.options[::2], case.options[1::2], strict=True)) | MORE.get(task, {}) | {"--batch-size": 1}
        return TaskCase(case.model, case.data, tuple(word for option in own.items() for word in option))
    model, data, _ = test_tasks.write_case(task, folder)
    return TaskCase(model, data, ("--metrics", test_tasks.METRICS[task], *BOOTSTRAP, *CLASSES_AND_VALUES[task],
                                  "--batch-size", 8))  # fmt: skip


def check_resumed(case: TaskCase, tally: Program, folder: Path, ranks: tuple[int, int, int], at: int) -> None:
    whole, run = (Resumable(tally, case, folder / name) for name in ("whole", "run"))
    whole(ranks=1).must_succeed()
    stopped, killed, last = ranks
    # Behind the first batch or, of samples that are sorted by length, the first block of them.
    run.stop(*ALWAYS, ranks=stopped, strike=Strike(name="progress/attempt-1.rank-0.", at=2))
    # Rank 0 has something to do as long as any batches are missing.
    strike = Strike(signal.SIGKILL, name="progress/attempt-2.rank-0.", at=at)
    assert run("--resume", *ALWAYS, ranks=killed, strike=strike).code not in (0, 75)
    assert run.names() >= {"events.jsonl", "progress"} and "report.json" not in run.names()
    run.resume(ranks=last)
    check_same(run.output, whole.output)
    assert state_digest(run.output) == run.report["digests"]["state"]


@pytest.mark.parametrize("task", [*test_tasks.METRICS, *TASK_CASES])
def test_the_result_is_the_same(task: str, tally: Program, tmp_path: Path) -> None:
    number = [*test_tasks.METRICS, *TASK_CASES].index(task)
    case = make_case(task, tmp_path)
    check_resumed(case, tally, tmp_path, RANKS[number % len(RANKS)], AT[number % len(AT)])
