# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of the tools for language models, by what prepare_text writes; and each refusal."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from tally_data import text_tokenizers
from token_sets import DOCUMENTS, IGNORED, load_tokenizer, read_rows, save_tokenizer, write_documents
from tokenizers import Encoding, Tokenizer

from conftest import Tool

NAME = "prepare_text"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, succeed: Tool) -> Write:
    """write(tokenizer, documents, *options) -> the data set file."""

    def run(tokenizer: object, documents: dict[str, str], *options: object) -> Path:
        source, output = write_documents(tmp_path / "in.jsonl", documents), tmp_path / "out.h5"
        succeed(NAME, "--input", source, "--tokenizer", tokenizer, "--output", output, "--overwrite", *options)
        return output

    return run


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


def num_classes(path: Path) -> int:
    with h5py.File(path) as file:
        return file.attrs["num_classes"]


def test_tokenizer_file(write: Write, tokenizer_file: Path) -> None:
    documents = DOCUMENTS | {"special": "the cat<|endoftext|>the dog"}
    path = write(tokenizer_file, documents, "--prefix-token", "<|endoftext|>")
    tokenizer = load_tokenizer(tokenizer_file)
    for rows, text in zip(read_rows(path), documents.values(), strict=True):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert rows == ([([0, *ids[:-1]], ids)] if text else [([0], [IGNORED])])
        assert tokenizer.decode(ids, skip_special_tokens=False) == text
    assert num_classes(path) == tokenizer.get_vocab_size()
    with h5py.File(path) as file:
        assert file["units/bytes"][0] == len(documents["b"].encode())


class Recorder:
    """Keeps what the tokenizer is given at once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.batches = tokenizer, []

    def encode_batch_fast(self, texts: list[str], add_special_tokens: bool) -> list[Encoding]:
        self.batches.append(texts)
        return self.tokenizer.encode_batch_fast(texts, add_special_tokens=add_special_tokens)


def test_few_texts_at_once(tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tokenizers, "TEXTS_PER_BATCH", 3)
    monkeypatch.setattr(text_tokenizers, "CHARACTERS_PER_BATCH", 10)
    args = Namespace(tokenizer=str(tokenizer_file), vocab=None, prefix_token=None)
    found = text_tokenizers.find_tokenizer(args, [])
    recorder = Recorder(load_tokenizer(tokenizer_file))
    monkeypatch.setattr(found, "_tokenizer", recorder)
    texts = ["a", "b", "c", "d", "x" * 11, "the cat,", "the", "", "the dog"]
    ids = found.ids(texts)
    assert recorder.batches == [["a", "b", "c"], ["d"], ["x" * 11], ["the cat,"], ["the", "", "the dog"]]
    assert [one.tolist() for one in ids] == [
        recorder.tokenizer.encode(text, add_special_tokens=False).ids for text in texts
    ]
    assert {one.dtype.name for one in ids} == {"int32"}
    assert found.ids([]) == []


def test_characters(tmp_path: Path, write: Write) -> None:
    documents = {"a": "banana\n", "b": "😀é"}
    (plain,), (_,) = read_rows(write("characters", documents))
    assert plain == ([2, 1, 3, 1, 3, 1], [1, 3, 1, 3, 1, 0])  # "\nabné😀"
    (tmp_path / "vocab").write_bytes("n\nb😀aéx".encode())
    options = ["--vocab", tmp_path / "vocab", "--prefix-token"]
    path = write("characters", documents, *options, "\n")
    assert read_rows(path) == [[([1, 2, 4, 0, 4, 0, 4], [2, 4, 0, 4, 0, 4, 1])], [([1, 3], [3, 5])]]
    assert num_classes(path) == 7
    path = write("characters", documents, *options, "<s>")
    assert read_rows(path)[1] == [([7, 3], [3, 5])] and num_classes(path) == 8


@pytest.mark.parametrize(("prefix", "token", "count"), [("\n", 10, 256), ("é", 256, 257), ("<s>", 256, 257)])
def test_prefix_of_bytes(write: Write, prefix: str, token: int, count: int) -> None:
    path = write("bytes", {"a": "ab"}, "--prefix-token", prefix)
    assert read_rows(path) == [[([token, 97], [97, 98])]] and num_classes(path) == count


def test_folder_of_a_model(write: Write, tokenizer_file: Path) -> None:
    from_file = read_rows(write(tokenizer_file, DOCUMENTS))
    assert read_rows(write(tokenizer_file.parent, DOCUMENTS)) == from_file


@pytest.mark.parametrize("with_vocabulary", [False, True])
def test_note_on_characters(tmp_path: Path, succeed: Tool, with_vocabulary: bool) -> None:
    source, vocabulary = tmp_path / "a.txt", tmp_path / "vocab"
    source.write_text("abba c")
    vocabulary.write_text("abc xyz")
    words = ["--input", source, "--tokenizer", "characters", "--output", tmp_path / "a.h5"]
    done = succeed(NAME, *words, *(["--vocab", vocabulary] if with_vocabulary else []))
    first, *others = done.stdout.splitlines()
    if with_vocabulary:
        assert first.startswith("wrote ") and others == []
    else:
        assert first.startswith("note: 4 kinds of characters") and "--vocab" in first and len(others) == 1


def test_bad_files(tmp_path: Path, fail: Tool) -> None:
    text, vocabulary = tmp_path / "a.txt", tmp_path / "vocab"
    words = ["--input", text, "--tokenizer"]
    text.write_text("")
    fail(NAME, *words, "characters", code=3, says="the texts hold no character")
    text.write_text("abc")
    fail(NAME, *words, tmp_path / "none.json", code=3, says="none.json' does not exist")
    fail(NAME, *words, tmp_path, code=3, says="tokenizer.json' does not exist")
    fail(NAME, *words, text, code=3, says="a.txt' is no tokenizer.json")
    words += ["characters", "--vocab", vocabulary]
    for content, says in (("", "holds no character"), ("aba", "has the character 'a' twice"),
                          ("ac", "the character 'b' (U+0062) is not in the vocabulary")):  # fmt: skip
        vocabulary.write_text(content)
        fail(NAME, *words, code=3, says=says)


def test_usage_faults(tmp_path: Path, fail: Tool, tokenizer_file: Path) -> None:
    source = write_documents(tmp_path / "in.jsonl", DOCUMENTS)
    words = ["--input", source, "--tokenizer"]
    fail(NAME, *words, "bytes", "--vocab", source, code=2, says="--vocab is for --tokenizer characters")
    fail(NAME, *words, "bytes", "--prefix-token", "", code=2, says="--prefix-token is empty")
    fail(NAME, *words, tokenizer_file, "--prefix-token", "<s>", code=2, says="has no token '<s>'")
