# SPDX-License-Identifier: Apache-2.0
"""prepare_multiple_choice: the rows of transformers' run_swag.py, forms of files and labels, layout, refusals."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import pytest
import transformers
from ragged import texts
from token_sets import write_lines
from tokenizer_folders import KINDS, PAIRS, TEXTS, save_tokenizer_folder

from conftest import Tool

NAME = "prepare_multiple_choice"
ENDINGS = [f"ending{number}" for number in range(4)]
SWAG = ["--text-fields", "sent1,sent2", "--choice-fields", ",".join(ENDINGS)]
RACE = ["--text-fields", "article,question", "--choice-fields", "options", "--label-field", "answer"]
Columns = dict[str, Any]
Write = Callable[..., Columns]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("tokenizers")
    return {kind: save_tokenizer_folder(base / kind, kind) for kind in KINDS}


@pytest.fixture
def write(tmp_path: Path, succeed: Tool, folders: dict[str, Path]) -> Write:
    """write(rows or a file, *options) -> the columns of the data set; what was printed is `printed`."""

    def run(source: Path | list[Any], *options: object, kind: str = "bert") -> Columns:
        if isinstance(source, list):
            source = write_lines(tmp_path / "in.jsonl", source)
        words = [
            "--input",
            source,
            "--tokenizer",
            folders[kind],
            "--output",
            tmp_path / "x.h5",
            "--overwrite",
            *options,
        ]
        printed = succeed(NAME, *words).stdout
        with h5py.File(tmp_path / "x.h5") as file:
            found = {name: dataset[...] for name, dataset in file["inputs"].items()}
            return found | {"label": file["targets/label"][...], "printed": printed, "attributes": dict(file.attrs)}

    return run


def swag_rows() -> list[dict[str, Any]]:
    """One has choices that are longer than its text, one the other way round."""
    return [
        {"sent1": text, "sent2": PAIRS[at], "label": at % 4}
        | {name: PAIRS[(at + number) % len(PAIRS)] for number, name in enumerate(ENDINGS)}
        for at, text in enumerate(TEXTS)
    ]


def as_run_swag(tokenizer: Any, rows: list[dict[str, Any]], length: int, padded: int) -> dict[str, list]:
    """Its function preprocess_function, but for the length to which rows are filled up."""
    first = [[row["sent1"]] * 4 for row in rows]
    second = [[f"{row['sent2']} {row[end]}" for end in ENDINGS] for row in rows]
    found = tokenizer(list(chain(*first)), list(chain(*second)), truncation=True, max_length=length)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0)
    found = tokenizer.pad(found, padding="max_length", max_length=padded, return_attention_mask=True)
    return {name: [values[at : at + 4] for at in range(0, len(values), 4)] for name, values in found.items()}


@pytest.mark.parametrize("length", [12, 500])
@pytest.mark.parametrize("kind", KINDS)
def test_as_transformers(write: Write, folders: dict[str, Path], kind: str, length: int) -> None:
    rows = swag_rows()
    found = write(rows, *SWAG, "--max-length", length, kind=kind)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[kind])
    expected = as_run_swag(tokenizer, rows, length, found["input_ids"].shape[2])
    assert (found["input_ids"].shape[2] == length) == (length == 12)
    assert set(expected) == {name for name in found if name in tokenizer.model_input_names}
    for name, values in expected.items():
        assert found[name].tolist() == values, name
    assert found["label"].tolist() == [row["label"] for row in rows]
    assert ("rows were longer than 12 tokens and are cut" in found["printed"]) == (length == 12)


def race_rows(answers: list[Any]) -> list[dict[str, Any]]:
    """The second question is a cloze."""
    questions = ["What is it?", "It is _ ."]
    return [
        {
            "article": "the quick fox " * 3,
            "question": question,
            "options": ["a dog", "a cat", "an owl"],
            "answer": answer,
        }
        for question, answer in zip(questions, answers, strict=True)
    ]


@pytest.mark.parametrize("blank", [None, "_"])
def test_a_list_of_choices(write: Write, folders: dict[str, Path], blank: str | None) -> None:
    """RACE's form, whose letters are labels."""
    found = write(race_rows(["C", "a"]), *RACE, *(["--blank", blank] if blank else []))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["bert"])
    seconds = [f"What is it? {choice}" for choice in ("a dog", "a cat", "an owl")]
    seconds += [f"It is {choice} ." if blank else f"It is _ . {choice}" for choice in ("a dog", "a cat", "an owl")]
    expected = tokenizer(["the quick fox " * 3] * 6, seconds, padding=True)
    for name, values in expected.items():
        assert found[name].reshape(6, -1).tolist() == values
    assert found["label"].tolist() == [2, 0] and found["attributes"]["num_classes"] == 3


def test_choices_without_a_second_text(write: Write, folders: dict[str, Path]) -> None:
    """CommonsenseQA's form, where a list lies in an object."""
    row = {"question": "a fox", "choices": {"label": ["A", "B"], "text": ["quick", "a dog"]}, "answerKey": "B"}
    found = write([row], "--text-fields", "question", "--choice-fields", "choices.text", "--label-field", "answerKey")
    expected = transformers.AutoTokenizer.from_pretrained(folders["bert"])(
        ["a fox"] * 2, ["quick", "a dog"], padding=True
    )
    assert found["input_ids"][0].tolist() == expected["input_ids"] and found["label"].tolist() == [1]


def test_layout(tmp_path: Path, write: Write) -> None:
    write([row | {"id": f"q{at}"} for at, row in enumerate(swag_rows())], *SWAG, "--max-length", 9)
    with h5py.File(tmp_path / "x.h5") as file:
        assert dict(file.attrs) == {"tally_schema": 1, "task": b"multiclass", "num_classes": 4}
        expected = {
            "inputs/input_ids": ("<i4", (8, 4, 9)), "inputs/attention_mask": ("|u1", (8, 4, 9)),
            "inputs/token_type_ids": ("|u1", (8, 4, 9)), "targets/label": ("<i8", (8,)),
        }  # fmt: skip
        for name, (dtype, shape) in expected.items():
            assert (file[name].dtype.str, file[name].shape, dict(file[name].attrs)) == (dtype, shape, {}), name
            assert f"checksums/{name}" in file
        assert set(file) == {"inputs", "targets", "samples", "checksums"}
        assert texts(file["samples/name"]) == [f"q{at}" for at in range(8)]


def test_pieces_are_joined(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = swag_rows()
    whole = write(rows, *SWAG)
    monkeypatch.setattr(f"{NAME}.QUESTIONS_PER_PIECE", 3)
    parts = write(rows, *SWAG)
    assert all(
        (parts[name] == whole[name]).all() for name in ("input_ids", "attention_mask", "token_type_ids", "label")
    )


@pytest.mark.parametrize(("answers", "options", "expected"), [
    ([0, 2], (), [0, 2]),
    (["0", "2.0"], (), [0, 2]),
    (["1", 3], ("--first-label", 1), [0, 2]),
    (["b", "3"], ("--first-label", 1), [1, 2]),
    (["", 2], (), [-1, 2]),
    ([None, "-"], (), None),
    (["-1", " B "], ("--first-label", 1), [-1, 1]),
])  # fmt: skip
def test_labels(
    tmp_path: Path, write: Write, fail: Tool, folders: dict[str, Path], answers: list[Any], options: tuple[Any, ...],
    expected: list[int] | None,
) -> None:  # fmt: skip
    rows = race_rows(answers)
    if expected is None:
        words = ["--input", write_lines(tmp_path / "in.jsonl", rows), "--tokenizer", folders["bert"], *RACE, *options]
        fail(NAME, *words, code=3, says="in.jsonl' has no row with a label: there is nothing to score")
        return
    found = write(rows, *RACE, *options)
    assert found["label"].tolist() == expected
    assert found["attributes"].get("ignore_index") == (-1 if -1 in expected else None)
    assert ("note: 1 of 2 questions have no label and are not scored" in found["printed"]) == (-1 in expected)


def test_tables(tmp_path: Path, write: Write) -> None:
    """SWAG's own files have columns that nothing names."""
    (tmp_path / "a.csv").write_text(',sent1,sent2,ending0,ending1,ending2,ending3,label\n0,a fox,it,is,"a, b",c,d,1\n')
    found = write(tmp_path / "a.csv", *SWAG)
    row = dict(zip(("sent1", "sent2", *ENDINGS), ("a fox", "it", "is", "a, b", "c", "d"), strict=True)) | {"label": 1}
    expected = write([row], *SWAG)
    assert all((found[name] == expected[name]).all() for name in ("input_ids", "attention_mask", "label"))


def test_parquet(tmp_path: Path, write: Write) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    rows = [row | {"options": {"text": row["options"]}} for row in race_rows(["A", "B"])]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    found, expected = (
        write(tmp_path / "a.parquet", *RACE, "--choice-fields", "options.text"),
        write(race_rows([0, 1]), *RACE),
    )
    assert all((found[name] == expected[name]).all() for name in ("input_ids", "attention_mask", "label"))


FORM = "is not in the form of questions with choices: line 2 has"
BAD_ROWS: list[tuple[Any, int, str]] = [
    ([1], 3, "is not in the form of questions with choices: line 2 is no object"),
    ({"article": 3}, 3, f"{FORM} no 'article' that is text"),
    ({"question": "\ud83d"}, 3, f"{FORM} a 'question' with half a surrogate pair"),
    ({"options": "a, b, c"}, 3, f"{FORM} no 'options' that is a list"),
    ({"options": ["a", "b"]}, 3, f"{FORM} 2 choices, expected 3 as line 1"),
    ({"options": ["a", "b", "c", "d"]}, 3, f"{FORM} 4 choices, expected 3 as line 1"),
    ({"options": []}, 3, f"{FORM} 0 choices, expected 3 as line 1"),
    ({"options": ["a", None, "c"]}, 3, f"{FORM} no 'options[1]' that is text"),
    ({"answer": "D"}, 3, f"{FORM} answer = D, expected 0..2 or A..C (--first-label)"),
    ({"answer": 3}, 3, f"{FORM} answer = 3, expected 0..2 or A..C (--first-label)"),
    ({"answer": -2}, 3, f"{FORM} answer = -2, expected 0..2"),
    ({"answer": "an owl"}, 3, f"{FORM} no 'answer' that is the number or the letter of a choice"),
    ({"answer": 1.5}, 3, f"{FORM} no 'answer' that is the number or the letter of a choice"),
    ({"answer": [1]}, 3, f"{FORM} no 'answer' that is the number or the letter of a choice"),
]


@pytest.mark.parametrize(("change", "code", "says"), BAD_ROWS)
def test_bad_rows(tmp_path: Path, fail: Tool, folders: dict[str, Path], change: Any, code: int, says: str) -> None:
    rows: list[Any] = race_rows(["A", "B"])
    rows[1] = rows[1] | change if isinstance(change, dict) else change
    words = ["--input", write_lines(tmp_path / "in.jsonl", rows), "--tokenizer", folders["bert"], *RACE]
    fail(NAME, *words, code=code, says=says)


def test_faults(tmp_path: Path, fail: Tool, folders: dict[str, Path]) -> None:
    source = write_lines(tmp_path / "in.jsonl", race_rows([0, 1]))
    words = ["--input", source, "--tokenizer", folders["bert"], *RACE]
    fail(NAME, *words, "--text-fields", "a,b,c", code=2, says="--text-fields names 3 fields, expected one or two")
    fail(
        NAME,
        *words,
        "--text-fields",
        "article,no",
        code=2,
        says="line 1, has no field 'no'; it has article, question, ",
    )
    fail(NAME, *words, "--id-field", "no", code=2, says="line 1, has no field 'no'; it has article, question, ")
    fail(NAME, *words, "--choice-fields", "options.text", code=2, says="line 1, has no field 'options.text'; it has ")
    fail(NAME, *words, "--choice-fields", "more.text", code=2, says="line 1, has no field 'more.text'; it has ")
    fail(NAME, *words, "--choice-fields", "article", code=3, says="line 1 has no 'article' that is a list")
    fail(NAME, *words, "--choice-fields", "article,options", code=3, says="line 1 has no 'options' that is text")
    fail(NAME, *words, "--first-label", 1, code=3, says="line 1 has answer = 0, expected 1..3 or A..C")
    says = "--blank is a text that stands in the second one of two --text-fields"
    fail(NAME, *words, "--text-fields", "article", "--blank", "_", code=2, says=says)
    fail(NAME, *words, "--blank", "", code=2, says=says)
    fail(NAME, *words, "--max-length", 3, code=2, says="--max-length 3 leaves no room beside 3 special tokens")
    alone = write_lines(tmp_path / "one.jsonl", [race_rows([0, 1])[0] | {"options": ["a"]}])
    fail(NAME, "--input", alone, *words[2:], code=3, says="line 1 has 1 choice, expected 2 or more")
    empty = write_lines(tmp_path / "empty.jsonl", [{"article": "", "options": ["", ""], "answer": 0}])
    options = ["--text-fields", "article", "--tokenizer", folders["gpt2"]]
    fail(NAME, "--input", empty, *RACE, *options, code=3, says="line 1: a choice and its text hold no token")
