# SPDX-License-Identifier: Apache-2.0
"""Models that score all choices of a question at once, from the file to the figures: those of transformers itself."""

import random
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
import transformers
from conftest import Evaluate
from text_models import run_tool, save_text_model
from token_sets import write_lines
from tokenizer_folders import PAIRS, TEXTS

RANKS = (1, 3)
LENGTH = 24
WORDS = sorted({word for text in TEXTS + PAIRS for word in text.split()})
ENDINGS = [f"ending{number}" for number in range(4)]
# Options that say how rows become pairs of texts.
SWAG = ["--text-fields", "sent1,sent2", "--choice-fields", ",".join(ENDINGS)]
RACE = ["--text-fields", "article,question", "--choice-fields", "options", "--label-field", "answer"]


class Draw:
    """Random texts, some of which are longer than rows may be."""

    def __init__(self) -> None:
        self._draw = random.Random(5)

    def text(self) -> str:
        return " ".join(self._draw.choices(WORDS, k=self._draw.randrange(1, 16)))

    def swag_row(self) -> dict[str, Any]:
        """A few have no label, as in SWAG's test set."""
        texts = {name: self.text() for name in ("sent1", "sent2", *ENDINGS)}
        return texts | {"label": self._draw.choice([-1, 0, 0, 1, 1, 2, 2, 3, 3])}

    def race_row(self) -> dict[str, Any]:
        options = [self.text() for _ in range(3)]
        return {"article": self.text(), "question": self.text(), "options": options, "answer": self._draw.choice("ABC")}


def swag_questions(rows: list[dict[str, Any]]) -> tuple[list[list[tuple[str, str]]], np.ndarray]:
    """Of each question the pairs of texts, and the labels."""
    pairs = [[(row["sent1"], f"{row['sent2']} {row[name]}") for name in ENDINGS] for row in rows]
    return pairs, np.array([row["label"] for row in rows])


def race_questions(rows: list[dict[str, Any]]) -> tuple[list[list[tuple[str, str]]], np.ndarray]:
    pairs = [[(row["article"], f"{row['question']} {option}") for option in row["options"]] for row in rows]
    return pairs, np.array(["ABC".index(row["answer"]) for row in rows])


@torch.inference_mode()
def logits_of(folder: Path, class_name: str, questions: list[list[tuple[str, str]]]) -> torch.Tensor:
    """By transformers alone, as its data collator of multiple choice makes batches."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, class_name).from_pretrained(folder).eval()
    found = []
    for first in range(0, len(questions), 8):
        batch = questions[first : first + 8]
        firsts, seconds = (list(texts) for texts in zip(*chain(*batch), strict=True))
        rows = tokenizer(firsts, seconds, truncation=True, max_length=LENGTH, padding=True, return_tensors="pt")
        inputs = {name: values.reshape(len(batch), len(batch[0]), -1) for name, values in rows.items()}
        found.append(model(**inputs).logits)
    return torch.cat(found)


@pytest.mark.parametrize("kind", ["Bert", "Roberta"])
def test_as_transformers(kind: str, evaluate: Evaluate, tmp_path: Path) -> None:
    """One file of the model takes sets with any number of choices."""
    class_name, draw = f"{kind}ForMultipleChoice", Draw()
    folder = save_text_model(tmp_path / "net", class_name)
    run_tool("export_model", "--model", f"hf:{folder}", "--output", tmp_path / "m.pt")
    swag, race = [draw.swag_row() for _ in range(53)], [draw.race_row() for _ in range(29)]
    for rows, options, (questions, labels) in (
        (swag, SWAG, swag_questions(swag)), (race, RACE, race_questions(race))
    ):  # fmt: skip
        words = ["--input", write_lines(tmp_path / "in.jsonl", rows), "--tokenizer", folder, "--max-length", LENGTH]
        printed = run_tool("prepare_multiple_choice", *words, *options, "--output", tmp_path / "d.h5", "--overwrite")
        assert f"rows were longer than {LENGTH} tokens and are cut" in printed
        words = ["--batch-size", 8, "--metrics", "all,accuracy_top2", "--save", "labels,logits"]
        results = [evaluate(tmp_path / "m.pt", tmp_path / "d.h5", *words, ranks=ranks) for ranks in RANKS]
        assert results[0].digests == results[1].digests and results[0].report["metrics"] == results[1].report["metrics"]
        logits, scored = logits_of(folder, class_name, questions), labels >= 0
        with h5py.File(results[0].folder / "predictions.h5") as file:
            found, predicted = file["logits"][...], file["prediction"][...]
        assert found == pytest.approx(logits.numpy(), rel=1e-5, abs=5e-6 * float(logits.abs().max()))
        assert predicted.tolist() == logits.argmax(1).tolist() and len(set(predicted.tolist())) == logits.shape[1]
        logits, labels = logits[scored], torch.from_numpy(labels[scored])
        loss = torch.nn.functional.cross_entropy(logits.double(), labels).item()
        assert results[0].value("loss") == pytest.approx(loss, rel=1e-6)
        ranking = logits.argsort(1, descending=True) == labels[:, None]  # [questions, choices]
        for metric, most in (("accuracy", 1), ("accuracy_top2", 2)):
            assert results[0].value(metric) == ranking[:, :most].any(1).double().mean().item()
