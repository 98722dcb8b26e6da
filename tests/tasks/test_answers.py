# SPDX-License-Identifier: Apache-2.0
"""Answer texts are scored as SQuAD's official scorers do it, whose rules stand here in Python."""

import json
import os
import random
import re
import string
import subprocess
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

Question = tuple[str, str, list[str]]  # "v1" or "v2", prediction, golds
Score = tuple[list[str], bool, float]  # tokens of the prediction, exact match, F1


PUNCTUATION = set(string.punctuation)


def tokens_of(text: str) -> list[str]:
    kept = "".join(c for c in text.lower() if c not in PUNCTUATION)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def f1_of(rules: str, prediction: list[str], gold: list[str]) -> float:
    if rules == "v2" and not (prediction and gold):
        return float(prediction == gold)
    common = sum((Counter(prediction) & Counter(gold)).values())
    if common == 0:
        return 0.0
    precision, recall = 1.0 * common / len(prediction), 1.0 * common / len(gold)
    return (2 * precision * recall) / (precision + recall)


def expected_score(question: Question) -> Score:
    rules, prediction, golds = question
    if rules == "v2":
        golds = [gold for gold in golds if tokens_of(gold)] or [""]
    tokens = tokens_of(prediction)
    exact = any(" ".join(tokens) == " ".join(tokens_of(gold)) for gold in golds)
    return tokens, exact, max((f1_of(rules, tokens, tokens_of(gold)) for gold in golds), default=0.0)


def scores(questions: list[Question]) -> list[Score]:
    run = subprocess.run([os.environ["TALLY_ANSWER_SCORES"]], input=json.dumps(questions), stdout=subprocess.PIPE,
                         text=True, check=True)  # fmt: skip
    return [(tokens, exact, f1) for tokens, exact, f1 in json.loads(run.stdout)]


def expect_the_same(questions: list[Question]) -> None:
    for question, score in zip(questions, scores(questions), strict=True):
        assert score == expected_score(question), question


def is_old(c: str) -> bool:
    """Unicode has more characters today, but the old ones have kept their case and kind."""
    kind = unicodedata.ucd_3_2_0.category(c)
    return kind == unicodedata.category(c) and kind not in ("Cn", "Cs")


# Of the many ideographs and syllables, some.
OLD = [chr(c) for c in range(0x110000) if (c < 0x3400 or c >= 0xFB00 or c % 32 == 0) and is_old(chr(c))]


def test_every_character() -> None:
    """Alone, inside a word, and beside an article on either side."""
    expect_the_same([("v1", f"{c} B{c}C the{c} {c}a Σ{c} {c}Σ A{c}Σ AΣ{c} AΣ{c}A", []) for c in OLD])


def test_random_texts() -> None:
    rng = random.Random(5)
    letters = "aAnNtThHeE \t.,-'_bΣσςİıßéÉ\u0301\u00a0\u3000\u2019中²"

    def text() -> str:
        words = [rng.choice(["a", "an", "the", "The", "b", "c", ".", "ΟΔΟΣ"]) for _ in range(rng.randrange(6))]
        return " ".join(words) + "".join(rng.choice(letters) for _ in range(rng.choice((0, 0, rng.randrange(12)))))

    def question() -> Question:
        golds = [text() for _ in range(rng.randrange(4))]
        return rng.choice(("v1", "v2")), rng.choice([text(), *golds]), golds

    questions = [question() for _ in range(5000)]
    assert sum(expected_score(one)[1] for one in questions) > 250
    assert sum(0 < expected_score(one)[2] < 1 for one in questions) > 250
    expect_the_same(questions)


SQUAD = Path(os.environ.get("TALLY_DATA_DIR", "/nonexistent")) / "squad"

# Prediction file: exact matches, sum of F1 in the order of the questions.
PUBLISHED = {
    "BERT_ensemble_Google_AI_Language": (9112, 9745.072783117144),
    "Logistic_Regression_Baseline_Stanford_University": (4243, 5388.748405221978),
}


@pytest.mark.skipif(not SQUAD.is_dir(), reason="needs squad/ in TALLY_DATA_DIR")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_predictions(name: str) -> None:
    articles = json.loads((SQUAD / "dev-v1.1-reconstructed.json").read_text(encoding="utf-8"))["data"]
    predictions = json.loads((SQUAD / "predictions-v1.1" / f"{name}.json").read_text(encoding="utf-8"))
    asked = [one for article in articles for paragraph in article["paragraphs"] for one in paragraph["qas"]]
    questions = [("v1", predictions[one["id"]], [answer["text"] for answer in one["answers"]])
                 for one in asked if one["id"] in predictions]  # fmt: skip
    expect_the_same(questions)
    found = scores(questions)
    assert (sum(exact for _, exact, _ in found), sum_in_order(f1 for _, _, f1 in found)) == PUBLISHED[name]


def sum_in_order(values) -> float:
    """One by one: sum() of newer Pythons rounds less."""
    total = 0.0
    for value in values:
        total += value
    return total
