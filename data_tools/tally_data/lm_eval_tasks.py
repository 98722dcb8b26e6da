# SPDX-License-Identifier: Apache-2.0
"""Tasks of lm-evaluation-harness, loaded by the harness itself: its requests, right answers and sizes of texts."""

import io
import logging
import operator
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .choices import Question
from .document_set import DocumentSize
from .errors import DataError, EnvironmentFault, ToolError, UsageError

CHOICES, ROLLING = "multiple_choice", "loglikelihood_rolling"
# The harness's names of figures, and Tally's.
METRICS = {
    CHOICES: {"acc": "accuracy", "acc_norm": "accuracy_norm", "acc_bytes": "accuracy_bytes"},
    ROLLING: {name: name for name in ("word_perplexity", "byte_perplexity", "bits_per_byte")},
}
# As `lm_eval` starts unless it is told otherwise: examples are drawn, and some tasks shuffle, by these.
_SEED, _OTHER_SEED = 0, 1234
_LONGEST = 300  # of what the harness says in a message


class AskedQuestion(NamedTuple):
    """requests: of its choices, in order."""

    question: Question
    requests: list[Any]


class SizedDocument(NamedTuple):
    size: DocumentSize
    request: Any


@contextmanager
def quiet_harness(doing: str) -> Iterator[None]:
    """Its log and bars are left out, and its faults become a DataError. What is asked of a hub is not asked."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        os.environ.setdefault(name, "1")
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    except ToolError:
        raise
    except Exception as error:
        raise DataError(f"lm-evaluation-harness cannot {doing}: {type(error).__name__}: {str(error)[:_LONGEST]}") from error
    finally:
        logging.disable(before)


def load_task(name: str, include: Path | None, num_fewshot: int | None) -> Any:
    """A YAML file's task, or one of the harness's own or of the folder `include` by its name, with its requests."""
    with quiet_harness(f"load the task '{name}'"):
        try:
            import lm_eval.tasks  # noqa: F401
        except ImportError as error:
            raise EnvironmentFault(f"{error.name} is not installed; see data_tools/requirements-lm-eval.txt") from error
        _seed()
        found = _manager_of(name, include).load(name)["tasks"]
        if len(found) != 1:
            names = ", ".join(sorted(found))[:_LONGEST]
            raise UsageError(f"--tasks: '{name}' stands for {len(found)} tasks, expected one: {names}")
        (task,) = found.values()
        _require_known(task)
        if task.get_config("num_fewshot") != 0:  # a 0 of the file stays, as in the harness
            asked = task.get_config("num_fewshot") if num_fewshot is None else num_fewshot
            task.set_config(key="num_fewshot", value=asked or 0)
        task.set_fewshot_seed(seed=_OTHER_SEED)
        task.build_all_requests()
    return task


def _manager_of(name: str, include: Path | None) -> Any:
    """The harness's own task files, which are thousands, are looked through only for a name that is not found elsewhere."""
    from lm_eval.tasks import TaskManager

    if Path(name).suffix in (".yaml", ".yml"):
        if not Path(name).is_file():
            raise DataError(f"'{name}' does not exist")
        return TaskManager(include_path=include, include_defaults=False)
    for with_defaults in (False, True):
        manager = TaskManager(include_path=include, include_defaults=with_defaults)
        if name in manager.task_index:
            return manager
    raise UsageError(f"--tasks: lm-evaluation-harness knows no task '{name}'")


def _seed() -> None:
    import torch

    random.seed(_SEED)
    np.random.seed(_OTHER_SEED)
    torch.manual_seed(_OTHER_SEED)


def _require_known(task: Any) -> None:
    """Raises UsageError for a task whose figures are not those of Tally."""
    from lm_eval.api.task import ConfigurableTask

    name, kind = task.task_name, task.OUTPUT_TYPE
    if kind == "generate_until":
        raise UsageError(f"task '{name}' scores texts that the model generates (generate_until), which Tally does not")
    if kind not in METRICS:
        raise UsageError(f"task '{name}' is of the output type {kind}, expected {' or '.join(METRICS)}")
    if getattr(task, "MULTIMODAL", False):
        raise UsageError(f"task '{name}' shows images or sounds, expected texts alone")
    is_own = type(task).process_results is not ConfigurableTask.process_results or callable(task.config.process_results)
    if kind == CHOICES and is_own:
        raise UsageError(f"task '{name}' computes its results by a function of its own (process_results), which Tally cannot")


def other_metrics(task: Any) -> list[str]:
    """Those of the task that Tally has not."""
    return sorted(set(task.aggregation()) - set(METRICS[task.OUTPUT_TYPE]))


def _by_document(task: Any) -> Iterator[tuple[int, dict[str, Any], list[Any]]]:
    for number, requests in groupby(task.instances, key=lambda request: request.doc_id):
        of_document = sorted(requests, key=lambda request: request.idx)
        yield number, of_document[0].doc, of_document


def read_questions(task: Any) -> list[AskedQuestion]:
    found = []
    with quiet_harness(f"make the questions of '{task.task_name}'"):
        for number, document, requests in _by_document(task):
            place = f"document {number} of task '{task.task_name}'"
            choices = task.doc_to_choice(document)
            if not choices or not all(isinstance(choice, str) for choice in choices):
                raise DataError(f"{place} has choices that are no texts: {choices!r}"[:_LONGEST])
            gold = _gold(task, document, choices, place)
            asked = requests[: len(choices)]  # behind them are those of acc_mutual_info
            found.append(AskedQuestion(Question(place, str(number), asked[0].args[0], choices, gold), asked))
    return found


def _gold(task: Any, document: dict[str, Any], choices: list[str], place: str) -> int:
    """Where contexts are the choices, as in WinoGrande, doc_to_text says which is right."""
    told = gold = task.doc_to_text(document) if task.multiple_input else task.doc_to_target(document)
    if isinstance(gold, list):
        if len(gold) != 1:
            raise DataError(f"{place} has {len(gold)} right choices, expected one")
        gold = gold[0]
    if isinstance(gold, str):
        gold = choices.index(gold) if gold in choices else -1
    try:
        gold = operator.index(gold)
    except TypeError:
        gold = -1
    if not 0 <= gold < len(choices):
        shown = repr(told)[:_LONGEST]
        raise DataError(f"{place} has the right choice {shown}, expected 0..{len(choices) - 1} or one of its choices")
    return gold


def read_documents(task: Any) -> list[SizedDocument]:
    found = []
    with quiet_harness(f"make the documents of '{task.task_name}'"):
        for number, document, requests in _by_document(task):
            (request,) = requests
            num_bytes, num_words = _sizes(task, document, request.args[0], f"document {number} of task '{task.task_name}'")
            found.append(SizedDocument(DocumentSize(str(number), num_bytes, num_words), request))
    return found


def _sizes(task: Any, document: dict[str, Any], text: str, place: str) -> tuple[int, int]:
    """Bytes and words by which the task divides: a function of its own may count those of another text."""
    counts = {"bytes": task.count_bytes(text), "words": task.count_words(text)}
    results = task.process_results(document, [0.0])
    for metric, what in (("byte_perplexity", "bytes"), ("bits_per_byte", "bytes"), ("word_perplexity", "words")):
        if metric in results:
            result = results[metric]
            if not isinstance(result, tuple) or len(result) != 2 or result[0] != 0:
                raise DataError(f"{place}: {metric} is made of {result!r}, expected a log likelihood and a number of {what}")
            counts[what] = result[1]
    return counts["bytes"], counts["words"]
