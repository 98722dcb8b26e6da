# SPDX-License-Identifier: Apache-2.0
"""prepare_squad: rows as Hugging Face's tokenizers cut them, places in bytes, gold answers, and each refusal."""

import copy
import json
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from ragged import ragged, texts
from small_squad import PLAIN, TOWER, V11, V20, write_squad, write_vocabulary
from tokenizers import BertWordPieceTokenizer, Encoding

from conftest import Tool

NAME = "prepare_squad"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, succeed: Tool) -> Write:
    """write(content, *options) -> the data set file."""

    def run(content: object, *options: object) -> Path:
        squad, output = write_squad(tmp_path / "squad.json", content), tmp_path / "squad.h5"
        vocabulary = write_vocabulary(tmp_path / "vocab.txt")
        succeed(NAME, "--input", squad, "--vocab", vocabulary, "--output", output, "--overwrite", *options)
        return output

    return run


def test_layout(write: Write) -> None:
    with h5py.File(write(V11, "--max-length", 48, "--stride", 8)) as file:
        assert dict(file.attrs) == {"tally_schema": 1, "task": b"question-answering", "no_answer": 0}
        found: dict[str, tuple[str, tuple[int, ...]]] = {}
        file.visititems(
            lambda name, item: (
                found.update({name: (item.dtype.str, item.shape)}) if isinstance(item, h5py.Dataset) else None
            )
        )
        data = {name for name in found if not name.startswith("checksums/")}
        assert {name.removeprefix("checksums/") for name in set(found) - data} == data  # each has its checksums
        num_rows = len(file["lengths"])
        for name, dtype in (("input_ids", "<i4"), ("attention_mask", "|u1"), ("token_type_ids", "|u1")):
            assert found[f"inputs/{name}"] == (dtype, (num_rows, 48))
            assert file[f"inputs/{name}"].attrs["padding"] == 0
        for name in ("lengths", "targets/context_begin", "targets/context_end", "targets/token_begin"):
            assert found[name] == ("<i4", (num_rows,))
        assert found["targets/unit"] == ("<i8", (num_rows,)) and found["units/first_answer"] == ("<i8", (4,))
        assert texts(file["units/id"]) == ["q-é", "q2", "q3"]
        assert texts(file["units/question"]) == ["Which tower?", "中文 [SEP] ?", "When?"]
        assert file["units/paragraph"][...].tolist() == [0, 0, 1]
        assert file["units/first_answer"][...].tolist() == [0, 2, 3, 4]
        assert texts(file["answers/text"]) == ["café tower", "The café", "😀", "1889"]
        assert texts(file["paragraphs/text"]) == [TOWER, PLAIN]  # not that without questions
        assert [rows.shape[1] for rows in ragged(file["paragraphs/tokens"])] == [2, 2]


def words_of(path: Path) -> list[str]:
    return path.with_name("vocab.txt").read_text(encoding="utf-8").splitlines()


def plain(text: str, cased: bool) -> str:
    """What BERT makes of a text before it looks for words."""
    text = text if cased else unicodedata.normalize("NFD", text.lower())
    return "".join(letter for letter in text if cased or unicodedata.category(letter) != "Mn")


@pytest.mark.parametrize("cased", [False, True])
def test_places_count_bytes(write: Write, cased: bool) -> None:
    path = write(V11, *["--cased"] * cased, "--stride", 0, "--max-length", 384)
    words = words_of(path)
    with h5py.File(path) as file:
        contents = [row.tobytes() for row in ragged(file["paragraphs/text"])]
        spans = ragged(file["paragraphs/tokens"])
        known = 0
        for row, unit in enumerate(file["targets/unit"][...]):
            paragraph = file["units/paragraph"][unit]
            begin, end = file["targets/context_begin"][row], file["targets/context_end"][row]
            assert file["targets/token_begin"][row] == 0 and end - begin == len(spans[paragraph])
            for token, (first, last) in zip(file["inputs/input_ids"][row, begin:end], spans[paragraph], strict=True):
                if words[token] != "[UNK]":
                    known += 1
                    text = contents[paragraph][first:last].decode()
                    assert plain(text, cased) == words[token].removeprefix("##")
        assert known > 60
        tower = [contents[0][first:last].decode() for first, last in spans[0]]
        assert {"中", "文", "😀", "[", "]", "café" if cased is False else "é"} <= set(tower)


def own_rows(file: h5py.File, unit: int) -> list[tuple[list[int], ...]]:
    return [
        tuple(file[f"inputs/{name}"][row].tolist() for name in ("input_ids", "attention_mask", "token_type_ids"))
        for row in np.flatnonzero(file["targets/unit"][...] == unit)
    ]


def their_rows(found: Encoding) -> list[tuple[list[int], ...]]:
    return [(part.ids, part.attention_mask, part.type_ids) for part in (found, *found.overflowing)]


def check_against_tokenizers(
    path: Path, pairs: list[tuple[str, str]], vocabulary: Path, length: int, stride: int
) -> int:
    """Rows and places of each (question, context); returns how many rows there are."""
    tokenizer = BertWordPieceTokenizer(str(vocabulary))
    tokenizer.enable_truncation(length, stride, strategy="only_second")
    tokenizer.enable_padding(length=length)
    with h5py.File(path) as file:
        spans = ragged(file["paragraphs/tokens"])
        for unit, (question, context) in enumerate(pairs):
            found = tokenizer.encode(question, context)
            assert own_rows(file, unit) == their_rows(found)
            rows = np.flatnonzero(file["targets/unit"][...] == unit)
            for row, part in zip(rows, (found, *found.overflowing), strict=True):
                inside = [at for at, sequence in enumerate(part.sequence_ids) if sequence == 1]
                begin, end = inside[0], inside[-1] + 1
                assert (file["targets/context_begin"][row], file["targets/context_end"][row]) == (begin, end)
                assert file["lengths"][row] == sum(part.attention_mask) == end + 1
                first = file["targets/token_begin"][row]
                own = spans[file["units/paragraph"][unit]][first : first + end - begin]
                theirs = [[len(context[:place].encode()) for place in part.offsets[at]] for at in inside]
                assert own.tolist() == theirs
        return len(file["lengths"])


@pytest.mark.parametrize(("length", "stride"), [(20, 0), (20, 1), (21, 6), (64, 8)])
def test_windows_of_a_small_set(write: Write, length: int, stride: int) -> None:
    content = json.loads(json.dumps(V11).replace("[SEP]", "sep"))  # see the next test
    path = write(content, "--max-length", length, "--stride", stride)
    pairs = [
        (question["question"], paragraph["context"])
        for paragraph in content["data"][1]["paragraphs"]
        for question in paragraph["qas"]
    ]
    num_rows = check_against_tokenizers(path, pairs, path.with_name("vocab.txt"), length, stride)
    assert (num_rows > 4) == (length < 64)


def test_special_tokens_in_a_text_are_words(write: Write) -> None:
    path = write(V11)
    words = words_of(path)
    with h5py.File(path) as file:
        ids = file["inputs/input_ids"][...]
        assert (ids == words.index("[SEP]")).sum(1).tolist() == [2, 2, 2]
        assert (ids == words.index("[")).sum(1).tolist() == [1, 2, 0]


def test_real_questions(tmp_path: Path, data_folder: Path, succeed: Tool) -> None:
    source = data_folder / "squad"
    if not source.is_dir():
        pytest.skip(f"no data: '{source}' is absent")
    content = json.loads((source / "dev-v1.1-reconstructed.json").read_text(encoding="utf-8"))
    articles = [article | {"paragraphs": article["paragraphs"][:4]} for article in content["data"][:20]]
    squad = write_squad(tmp_path / "part.json", {"version": "1.1", "data": articles})
    vocabulary, output = source / "bert-base-uncased-vocab.txt", tmp_path / "part.h5"
    options = ["--max-length", 128, "--stride", 48]
    succeed(NAME, "--input", squad, "--vocab", vocabulary, "--output", output, *options)
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    pairs = [(qa["question"], paragraph["context"]) for paragraph in paragraphs for qa in paragraph["qas"]]
    assert any(not context.isascii() for _, context in pairs)
    assert check_against_tokenizers(output, pairs, vocabulary, 128, 48) > len(pairs) + 100


def test_long_questions_are_cut(write: Write) -> None:
    content = copy.deepcopy(V20)
    content["data"][0]["paragraphs"][0]["qas"][0]["question"] = "who " * 50
    with h5py.File(write(content, "--max-question-length", 5)) as file:
        assert file["targets/context_begin"][...].tolist() == [7, 7]
    with h5py.File(write(content)) as file:
        assert file["targets/context_begin"][0] == 66


def test_questions_without_answer(write: Write) -> None:
    with h5py.File(write(V20)) as file:
        assert file.attrs["no_answer"] == 1 and file["units/first_answer"][...].tolist() == [0, 0, 1]
        assert texts(file["answers/text"]) == ["Paris"]
    content = copy.deepcopy(V20)
    del content["data"][0]["paragraphs"][0]["qas"][1]
    with h5py.File(write(content)) as file:  # no answer at all
        assert file["answers/text/values"].shape == (0,) and file["units/first_answer"][...].tolist() == [0, 0]
        assert file["checksums/answers/text/values"].shape == (0,)


def test_same_input_same_bytes(write: Write) -> None:
    assert write(V11).read_bytes() == write(V11).read_bytes()


def changed(content: dict, change: Callable[[dict, dict], object]) -> dict:
    """`change` is given the last paragraph and its first question."""
    content = copy.deepcopy(content)
    paragraph = content["data"][-1]["paragraphs"][-1]
    change(paragraph, paragraph["qas"][0])
    return content


PLACE = "data[1].paragraphs[1].qas[0]"
BAD_FILES = [
    (["x"], "is not in SQuAD's form: the top has no 'data' that is a list"),
    ({"data": [3]}, "data[0] has no 'paragraphs' that is a list"),
    ({"data": []}, "holds no question"),
    (changed(V11, lambda paragraph, _: paragraph.pop("context")),
     "data[1].paragraphs[1] has no 'context' that is text"),
    (changed(V11, lambda _, question: question.pop("id")), f"{PLACE} has no 'id' that is text"),
    (changed(V11, lambda _, question: question.update(id="q2")),
     f"{PLACE} has the id 'q2' that data[1].paragraphs[0].qas[1] has already"),
    (changed(V11, lambda _, question: question.update(answers=[])), f"{PLACE} (id 'q3') has no answers"),
    (changed(V11, lambda _, question: question.update(answers=[{"text": None}])),
     f"{PLACE}.answers[0] has no 'text' that is text"),
    (changed(V11, lambda _, question: question.update(question="\ud83d")), f"{PLACE} has a 'question' with half"),
    (changed(V11, lambda paragraph, _: paragraph.update(context=" \n")),
     "the context of data[1].paragraphs[1] holds no token"),
    (changed(V20, lambda _, question: question.update(is_impossible="yes")), "is_impossible = 'yes'"),
    (changed(V20, lambda _, question: question.update(is_impossible=False)), "(id 'a') has no answers"),
    (changed(V20, lambda _, question: question.update(answers=[{"text": "Paris"}])),
     "(id 'a') has answers and is_impossible = true"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "says"), BAD_FILES)
def test_bad_files(tmp_path: Path, fail: Tool, content: object, says: str) -> None:
    squad = tmp_path / "squad.json"
    squad.write_text(json.dumps(content))
    vocabulary = write_vocabulary(tmp_path / "vocab.txt")
    fail(NAME, "--input", squad, "--vocab", vocabulary, code=3, says=says)


def test_files_that_are_none(tmp_path: Path, fail: Tool) -> None:
    squad, vocabulary = tmp_path / "squad.json", write_vocabulary(tmp_path / "vocab.txt")
    words = ["--input", squad, "--vocab", vocabulary]
    fail(NAME, *words, code=3, says="squad.json' does not exist")
    os.mkfifo(squad)  # without a writer
    fail(NAME, *words, code=3, says="squad.json' is not a regular file")
    squad.unlink()
    for content in (b"{", b"\xff\xfe{}", b"[" * 100_000):
        squad.write_bytes(content)
        fail(NAME, *words, code=3, says="squad.json' is not a JSON file")
    write_squad(squad, V11)
    for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]"):
        write_vocabulary(vocabulary)
        vocabulary.write_text(vocabulary.read_text().replace(f"{token}\n", "x\n"))
        fail(NAME, *words, code=3, says=f"vocab.txt' has no line {token}")
    vocabulary.write_bytes(b"\xff\n")
    fail(NAME, *words, code=3, says="vocab.txt' is not text in UTF-8")
    vocabulary.unlink()
    fail(NAME, *words, code=3, says="vocab.txt' does not exist")


def test_rows_too_short(tmp_path: Path, fail: Tool, write: Write) -> None:
    """`When?` is five tokens of this vocabulary: w, ##h, ##e, ##n, ?."""
    content = {"data": [{"paragraphs": V11["data"][1]["paragraphs"][1:]}]}
    squad, vocabulary = write_squad(tmp_path / "in.json", content), write_vocabulary(tmp_path / "vocab.txt")
    words = ["--input", squad, "--vocab", vocabulary, "--max-length"]
    fail(NAME, *words, 8, code=2, says="--max-length 8 leaves no room for the context beside a question of 5 tokens")
    fail(NAME, *words, 20, "--stride", 12, code=2, says="--stride 12 is not smaller than the 12 context tokens")
    with h5py.File(write(content, "--max-length", 9, "--stride", 0)) as file:
        assert len(file["lengths"]) == len(file["paragraphs/tokens/values"]) > 6
    fail(NAME, *words, 20, "--stride", -1, code=2, says="--stride: '-1' is not a whole number")
