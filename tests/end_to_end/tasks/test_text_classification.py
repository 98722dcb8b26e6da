# SPDX-License-Identifier: Apache-2.0
"""Texts and pairs of texts from the file to the figures: those of transformers' own models and tokenizers."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pytest
import torch
import transformers
from conftest import Evaluate, Result
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef, mean_squared_error
from text_models import run_tool, save_text_model
from token_sets import write_lines
from tokenizer_folders import PAIRS, TEXTS

RANKS = (1, 3)
LENGTH = 24
NLI = ["contradiction", "neutral", "entailment"]
WORDS = sorted({word for text in TEXTS + PAIRS for word in text.split()})


class Case(NamedTuple):
    """label: a random one, of a row in the file."""

    model: str
    task: str
    fields: tuple[str, ...]
    names: list[str] | None
    label: Callable[[random.Random], Any]
    more: dict[str, Any] = {}


def some_names(names: list[str]) -> Callable[[random.Random], list[str]]:
    return lambda draw: [name for name in names if draw.random() < 0.4]


CASES = {
    "nli": Case("Bert", "multiclass", ("premise", "hypothesis"), NLI, lambda draw: draw.choice([*NLI, "-"])),
    "sentiment": Case("DistilBert", "binary", ("sentence",), ["negative", "positive"], lambda draw: draw.randrange(2)),
    "deberta": Case("Deberta", "multiclass", ("premise", "hypothesis"), NLI, lambda draw: draw.choice(NLI)),
    "topics": Case("Roberta", "multilabel", ("sentence",), ["a", "b", "c", "d"], some_names(["a", "b", "c", "d"])),
    "gpt2": Case("GPT2", "multiclass", ("sentence",), NLI, lambda draw: draw.randrange(3)),
    "similarity": Case("Bert", "regression", ("premise", "hypothesis"), None, lambda draw: round(draw.random() * 5, 2),
                       {"num_labels": 1}),
}  # fmt: skip


def make_rows(case: Case) -> list[dict[str, Any]]:
    draw = random.Random(3)
    texts = [" ".join(draw.choices(WORDS, k=draw.randrange(1, 20))) for _ in range(2 * 53)]
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return [dict(zip(case.fields, pair, strict=False)) | {"label": case.label(draw)} for pair in pairs]


@torch.inference_mode()
def logits_of(folder: Path, class_name: str, rows: list[dict[str, Any]], fields: tuple[str, ...]) -> np.ndarray:
    """By transformers alone, a batch at a time, padded to its longest row."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, class_name).from_pretrained(folder).eval()
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(model.config.pad_token_id)
    found = []
    for first in range(0, len(rows), 8):
        columns = [[row[name] for row in rows[first : first + 8]] for name in fields]
        batch = tokenizer(*columns, truncation=True, max_length=LENGTH, padding=True, return_tensors="pt")
        found.append(model(**batch).logits.numpy())
    return np.concatenate(found)


def check_scores(case: Case, result: Result, logits: np.ndarray) -> None:
    """Rounding is in proportion to the largest of them."""
    with h5py.File(result.folder / "predictions.h5") as file:
        if case.task == "binary":
            expected = logits[:, 1] - logits[:, 0]
        else:
            expected = logits[:, 0] if case.task == "regression" else logits
        found = file["prediction" if case.task == "regression" else "logits"][...]
    assert found == pytest.approx(expected, rel=1e-5, abs=5e-6 * float(np.abs(logits).max()))


def check_figures(case: Case, result: Result, logits: np.ndarray, rows: list[dict[str, Any]]) -> None:
    labels = [row["label"] for row in rows]
    if case.task == "regression":
        assert result.value("mse") == pytest.approx(mean_squared_error(labels, logits[:, 0]), rel=1e-5)
        assert result.value("pearson") == pytest.approx(pearsonr(labels, logits[:, 0]).statistic, rel=1e-5)
        return
    if case.task == "multilabel":
        truth = np.array([[name in label for name in case.names or []] for label in labels])
        assert result.value("f1_micro") == pytest.approx(f1_score(truth, logits > 0, average="micro"), abs=1e-12)
        return
    numbers = [label if isinstance(label, int) else NLI.index(label) for label in labels if label != "-"]
    predicted = logits.argmax(1)[[label != "-" for label in labels]]
    assert len(set(predicted.tolist())) > 1
    assert result.value("accuracy") == accuracy_score(numbers, predicted)
    assert result.value("mcc") == pytest.approx(matthews_corrcoef(numbers, predicted), abs=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_as_transformers(name: str, evaluate: Evaluate, tmp_path: Path) -> None:
    case = CASES[name]
    class_name, rows = f"{case.model}ForSequenceClassification", make_rows(case)
    folder = save_text_model(tmp_path / "net", class_name, case.names, **case.more)
    source = write_lines(tmp_path / "rows.jsonl", rows)
    words = ["--input", source, "--text-fields", ",".join(case.fields), "--like", f"hf:{folder}", "--task", case.task]
    printed = run_tool("prepare_text_classification", *words, "--max-length", LENGTH, "--output", tmp_path / "d.h5")
    assert f"rows were longer than {LENGTH} tokens and are cut" in printed
    run_tool("export_model", "--model", f"hf:{folder}", "--output", tmp_path / "m.pt")
    options = ["--batch-size", 8, "--metrics", "all", "--save", "labels" if case.task == "regression" else "labels,logits"]
    results = [evaluate(tmp_path / "m.pt", tmp_path / "d.h5", *options, ranks=ranks) for ranks in RANKS]
    assert results[0].digests == results[1].digests and results[0].report["metrics"] == results[1].report["metrics"]
    logits = logits_of(folder, class_name, rows, case.fields)
    check_scores(case, results[0], logits)
    check_figures(case, results[0], logits, rows)
