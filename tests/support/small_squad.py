# SPDX-License-Identifier: Apache-2.0
"""Small files in SQuAD's form, with a vocabulary that fits them."""

import json
from pathlib import Path

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
# The last ones are of two, three and four bytes; é is known to a cased vocabulary only.
WORDS = ["the", "cafe", "tower", "paris", "was", "in", "?", ".", ",", "-", "[", "]", "é", "ß", "中", "文", "😀"]
DIGITS = [str(digit) for digit in range(10)]

TOWER = "The café tower — built in 1889 — was in Paris. 中文 😀 ok: cafe\u0301s, Straße, [SEP] naïve."
PLAIN = "The tower was in Paris in 1889."
V11 = {
    "version": "1.1",
    "data": [
        {"title": "no questions", "paragraphs": [{"context": "", "qas": []}]},
        {
            "title": "towers",
            "paragraphs": [
                {
                    "context": TOWER,
                    "qas": [
                        {"id": "q-é", "question": "Which tower?",
                         "answers": [{"text": "café tower", "answer_start": 4},
                                     {"text": "The café", "answer_start": 0}]},
                        {"id": "q2", "question": "中文 [SEP] ?", "answers": [{"text": "😀", "answer_start": 50}]},
                    ],
                },
                {
                    "context": PLAIN,
                    "qas": [{"id": "q3", "question": "When?", "answers": [{"text": "1889", "answer_start": 26}]}],
                },
            ],
        },
    ],
}  # fmt: skip
V20 = {
    "version": "v2.0",
    "data": [
        {
            "title": "towers",
            "paragraphs": [
                {
                    "context": PLAIN,
                    "qas": [
                        {"id": "a", "question": "Who?", "answers": [], "is_impossible": True},
                        {"id": "b", "question": "Where?", "answers": [{"text": "Paris", "answer_start": 17}],
                         "is_impossible": False},
                    ],
                }
            ],
        }
    ],
}  # fmt: skip


def write_vocabulary(path: Path) -> Path:
    pieces = [f"##{piece}" for piece in LETTERS + DIGITS + ["é", "ß"]]
    path.write_text("\n".join(SPECIAL + LETTERS + DIGITS + WORDS + pieces) + "\n", encoding="utf-8")
    return path


def write_squad(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path
