# SPDX-License-Identifier: Apache-2.0
"""Named entities from a CoNLL file to the figures: those of seqeval, of what transformers' own model says."""

import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
import transformers
from conftest import Evaluate
from seqeval.metrics import accuracy_score, f1_score, precision_score, recall_score
from text_models import run_tool, save_text_model
from tokenizer_folders import PAIRS, TEXTS

RANKS = (1, 3)
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-MISC", "I-MISC"]
WORDS = sorted({word for text in TEXTS + PAIRS for word in text.split()})


class Sentence(NamedTuple):
    words: list[str]
    tags: list[str]


def make_sentences() -> list[Sentence]:
    """Of one word and of more than fit; tags that begin within an entity, too, which seqeval mends."""
    draw = random.Random(5)
    lengths = [1, 40, *(draw.randrange(1, 15) for _ in range(51))]
    return [Sentence(draw.choices(WORDS, k=length), draw.choices(TAGS, k=length)) for length in lengths]


def write_conll(path: Path, sentences: list[Sentence]) -> Path:
    lines = ["-DOCSTART- -X- O\n\n"]
    for words, tags in sentences:
        lines += [*(f"{word} NN {tag}\n" for word, tag in zip(words, tags, strict=True)), "\n"]
    path.write_text("".join(lines))
    return path


@torch.inference_mode()
def expected_tags(
    folder: Path, class_name: str, sentences: list[Sentence], length: int
) -> tuple[list[list[str]], list[list[str]]]:
    """True and predicted tags of each sentence's words, by the first pieces, as run_ner.py gives them to seqeval."""
    model = getattr(transformers, class_name).from_pretrained(folder).eval()
    options = {"add_prefix_space": True} if model.config.model_type == "roberta" else {}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
    truth, predicted = [], []
    for words, tags in sentences:
        row = tokenizer(words, truncation=True, max_length=length, is_split_into_words=True, return_tensors="pt")
        best = model(**row).logits[0].argmax(1).tolist()
        places = row.word_ids(0)
        firsts = [at for at, word in enumerate(places) if word is not None and word not in places[:at]]
        truth.append([tags[places[at]] for at in firsts])
        predicted.append([model.config.id2label[best[at]] for at in firsts])
    return truth, predicted


@pytest.mark.parametrize("length", [24, 128])
@pytest.mark.parametrize("class_name", ["BertForTokenClassification", "RobertaForTokenClassification"])
def test_as_seqeval(class_name: str, length: int, evaluate: Evaluate, tmp_path: Path) -> None:
    sentences = make_sentences()
    folder = save_text_model(tmp_path / "net", class_name, TAGS)
    source = write_conll(tmp_path / "test.conll", sentences)
    words = ["--input", source, "--like", f"hf:{folder}", "--max-length", length, "--output", tmp_path / "d.h5"]
    assert ("words are lost" in run_tool("prepare_token_classification", *words)) == (length == 24)
    run_tool("export_model", "--model", f"hf:{folder}", "--output", tmp_path / "m.pt")
    options = ["--batch-size", 8, "--metrics", "all"]
    results = [evaluate(tmp_path / "m.pt", tmp_path / "d.h5", *options, ranks=ranks) for ranks in RANKS]
    assert results[0].digests == results[1].digests and results[0].report["metrics"] == results[1].report["metrics"]
    truth, predicted = expected_tags(folder, class_name, sentences, length)
    assert len({tag for tags in predicted for tag in tags}) > 2
    assert np.mean([len(tags) for tags in truth]) > 1
    assert results[0].value("accuracy") == pytest.approx(accuracy_score(truth, predicted), abs=1e-12)
    for name, score in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        assert results[0].value(f"entity_{name}") == pytest.approx(score(truth, predicted), abs=1e-12), name
