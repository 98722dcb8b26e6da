# SPDX-License-Identifier: Apache-2.0
"""prepare_choices: tokens as the harness splits and cuts them, the layout, and each refusal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest
from ragged import texts
from token_sets import IGNORED, Row, load_tokenizer, read_rows, save_tokenizer, write_lines
from tokenizers import Tokenizer

from conftest import Tool

NAME = "prepare_choices"
QUESTIONS: list[dict[str, Any]] = [
    {"id": "q-é", "question": "the cat, the dog, and ", "choices": ["the owl", "  x", "世界"], "gold": 2},
    {"id": "one", "question": "abc abc\n \t", "choices": ["abc"], "gold": 0},
    {"id": "empty", "question": "", "choices": ["the cat", "A second line."], "gold": 1},
    {"id": "blank", "question": "  ", "choices": ["a", "b"], "gold": "0"},
]
MERGED = {"id": "merged", "question": "the cat, the d", "choices": ["og, and the owl", "ogs and the"], "gold": 0}
TOKEN = "<|endoftext|>"
Write = Callable[..., Path]


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


@pytest.fixture
def write(tmp_path: Path, succeed: Tool) -> Write:
    """write(tokenizer, *options, questions=...) -> the data set file."""

    def run(tokenizer: object, *options: object, questions: list[dict[str, Any]] = QUESTIONS) -> Path:
        source, output = write_lines(tmp_path / "in.jsonl", questions), tmp_path / "out.h5"
        succeed(NAME, "--input", source, "--tokenizer", tokenizer, "--output", output, "--overwrite", *options)
        return output

    return run


def harness_row(tokenizer: Tokenizer, context: str, continuation: str, length: int, always_prefix: bool) -> Row:
    """Of a causal model's request, in plain words: encode, split, cut on the left, and drop the last input."""

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).ids

    while context and context[-1].isspace():
        context, continuation = context[:-1], context[-1] + continuation
    context_ids, whole = encode(context), encode(context + continuation)
    continuation_ids = whole[len(context_ids) :]
    if always_prefix or not context_ids:
        context_ids = [0, *context_ids]
    seen = (context_ids + continuation_ids)[-(length + 1) :]
    labels = [IGNORED] * (len(seen) - 1 - len(continuation_ids)) + continuation_ids
    return seen[:-1], labels


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize(("length", "delimiter"), [(1024, " "), (1024, ""), (1024, "\nAnswer: "), (8, " ")])
def test_as_the_harness(write: Write, tokenizer_file: Path, length: int, delimiter: str, always: bool) -> None:
    options = ["--max-length", length, "--delimiter", delimiter, *["--prefix-always"] * always]
    questions = [*QUESTIONS, MERGED]
    found = read_rows(write(tokenizer_file, "--prefix-token", TOKEN, *options, questions=questions))
    tokenizer, longest = load_tokenizer(tokenizer_file), 0
    for question, rows in zip(questions, found, strict=True):
        expected = [
            harness_row(tokenizer, question["question"], delimiter + choice, length, always)
            for choice in question["choices"]
        ]
        assert rows == expected
        longest = max(longest, *(len(seen) for seen, _ in rows))
    assert (longest == 8) == (length == 8)  # some are cut
    texts_of_merged = (MERGED["question"], MERGED["question"] + delimiter + MERGED["choices"][0])
    alone, whole = (tokenizer.encode(text, add_special_tokens=False).ids for text in texts_of_merged)
    assert (whole[: len(alone)] != alone) == (delimiter == "")  # a token spans the boundary


def test_bytes_by_hand(write: Write) -> None:
    question = {"id": 1, "question": "ab ", "choices": ["cd"], "gold": 0}
    assert read_rows(write("bytes", questions=[question])) == [[(list(b"ab  c"), [IGNORED, *b"  cd"])]]
    options = ["--max-length", 4, "--prefix-token", "<s>", "--prefix-always"]
    assert read_rows(write("bytes", *options, questions=[question])) == [[(list(b"b  c"), list(b"  cd"))]]
    assert read_rows(write("bytes", "--prefix-token", "<s>", "--prefix-always", questions=[question])) == [
        [([256, *b"ab  c"], [IGNORED, IGNORED, *b"  cd"])]
    ]


def test_layout(write: Write) -> None:
    with h5py.File(write("characters", "--prefix-token", "<s>")) as file:
        characters = {" ", *"".join(text for one in QUESTIONS for text in (one["question"], *one["choices"]))}
        assert dict(file.attrs) == {
            "tally_schema": 1, "task": b"multiple-choice", "num_classes": len(characters) + 1, "ignore_index": IGNORED,
        }  # fmt: skip
        length = int(file["lengths"][...].max())
        expected = {
            "inputs/input_ids": ("<i4", (8, length)),
            "inputs/attention_mask": ("|u1", (8, length)),
            "lengths": ("<i4", (8,)),
            "targets/label": ("<i4", (8, length)),
            "targets/unit": ("<i8", (8,)),
            "targets/choice": ("<i4", (8,)),
            "units/gold": ("<i8", (4,)),
            "units/first_choice": ("<i8", (5,)),
        }
        for name, form in expected.items():
            assert (file[name].dtype.str, file[name].shape) == form and f"checksums/{name}" in file, name
        assert file["targets/unit"][...].tolist() == [0, 0, 0, 1, 2, 2, 3, 3]
        assert file["targets/choice"][...].tolist() == [0, 1, 2, 0, 0, 1, 0, 1]
        assert file["units/first_choice"][...].tolist() == [0, 3, 4, 6, 8]
        assert file["units/gold"][...].tolist() == [2, 0, 1, 0]
        assert texts(file["units/id"]) == [one["id"] for one in QUESTIONS]
        assert texts(file["units/question"]) == [one["question"] for one in QUESTIONS]
        assert texts(file["choices/text"]) == [text for one in QUESTIONS for text in one["choices"]]
        assert {f"checksums/{name}/values" in file for name in ("units/id", "units/question", "choices/text")} == {True}


def test_same_bytes_in_pieces(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, succeed: Tool) -> None:
    words = ["--prefix-token", "<s>"]
    whole = write("bytes", *words).read_bytes()
    monkeypatch.setattr("tally_data.choice_set.QUESTIONS_PER_PIECE", 3)
    words += ["--input", tmp_path / "in.jsonl", "--tokenizer", "bytes", "--output", tmp_path / "pieces.h5"]
    succeed(NAME, *words)
    assert (tmp_path / "pieces.h5").read_bytes() == whole


def test_names_of_fields(write: Write) -> None:
    renamed = [
        {"ind": number, "ctx": "What? " * number, "endings": one["choices"], "label": str(one["gold"])}
        for number, one in enumerate(QUESTIONS, start=1)
    ]
    fields = ["--question-field", "ctx", "--choices-field", "endings", "--gold-field", "label"]
    with h5py.File(write("bytes", *fields, questions=renamed)) as file:
        assert texts(file["units/id"]) == ["1", "2", "3", "4"]  # the lines
        assert file["units/gold"][...].tolist() == [2, 0, 1, 0]
    with h5py.File(write("bytes", *fields, "--id-field", "ind", questions=renamed[::-1])) as file:
        assert texts(file["units/id"]) == ["4", "3", "2", "1"]


def with_values(**values: Any) -> dict[str, Any]:
    return QUESTIONS[0] | values


FORM = "is not in the form of questions with choices: line 1 has"
BAD_QUESTIONS = [
    ([with_values(question=None)], f"{FORM} no 'question' that is text"),
    ([with_values(choices="ab")], f"{FORM} no 'choices' that is a list"),
    ([with_values(choices=[])], f"{FORM} no choice in 'choices'"),
    ([with_values(choices=["a", ""])], f"{FORM} no text in choices[1]"),
    ([with_values(choices=["a", 3])], f"{FORM} no text in choices[1]"),
    ([with_values(choices=["\ud83d"])], f"{FORM} a 'choices[0]' with half a surrogate pair"),
    ([with_values(gold=3)], f"{FORM} gold = 3, expected 0..2"),
    ([with_values(gold=-1)], f"{FORM} gold = -1, expected 0..2"),
    ([with_values(gold="A")], f"{FORM} no 'gold' that is a whole number"),
    ([with_values(gold=True)], f"{FORM} no 'gold' that is a whole number"),
    ([with_values(gold="9" * 5000)], f"{FORM} no 'gold' that is a whole number"),
    ([with_values(gold=10**30)], f"{FORM} no 'gold' that is a whole number"),
    ([with_values(id=1.5)], f"{FORM} no 'id' that is text or a whole number"),
    ([with_values(id=""), with_values(id="")], "line 2 has the id '' that line 1 has already"),
    ([], "holds no question"),
]


@pytest.mark.parametrize(("questions", "says"), BAD_QUESTIONS)
def test_bad_questions(tmp_path: Path, fail: Tool, questions: list[dict[str, Any]], says: str) -> None:
    fail(NAME, "--input", write_lines(tmp_path / "in.jsonl", questions), "--tokenizer", "bytes", code=3, says=says)


def test_choices_that_cannot_be_scored(tmp_path: Path, fail: Tool, tokenizer_file: Path) -> None:
    source = tmp_path / "in.jsonl"
    words = ["--input", source, "--tokenizer", "bytes"]
    fail(NAME, *words, code=3, says="in.jsonl' does not exist")
    write_lines(source, [with_values(question="?", choices=["abc", "abcd"], gold=0)])
    fail(NAME, *words, "--max-length", 4, code=3, says="choice 1 of line 1 (id 'q-é') is 5 tokens long, more than")
    write_lines(source, QUESTIONS)
    fail(NAME, *words, code=2, says="choice 0 of line 3 (id 'empty'): the question holds no token; give --prefix-token")
    fail(NAME, *words, "--prefix-always", code=2, says="--prefix-always needs --prefix-token")
    tokenizer = load_tokenizer(tokenizer_file)
    assert [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in ("a", "abc")] == [1, 1]
    write_lines(source, [with_values(question="a", choices=["bc"], gold=0)])
    words = ["--input", source, "--tokenizer", tokenizer_file, "--delimiter", ""]
    fail(NAME, *words, code=3, says="choice 0 of line 1 (id 'q-é') has no token of its own behind the question")
