# SPDX-License-Identifier: Apache-2.0
"""Rows of tokens: those of transformers' own tokenizers, of whatever kind; their padding; and each refusal."""

import shutil
from pathlib import Path

import h5py
import pytest
import transformers
from token_sets import write_lines
from tokenizer_folders import KINDS, PAIRS, TEXTS, save_tokenizer_folder

from conftest import Tool

NAME = "prepare_text_classification"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("tokenizers")
    return {kind: save_tokenizer_folder(base / kind, kind) for kind in KINDS}


def write(succeed: Tool, folder: Path, tokenizer: Path, pairs: list[str] | None, *options: object) -> Path:
    seconds = pairs or [""] * len(TEXTS)
    values = [{"a": one, "b": two, "label": at % 2} for at, (one, two) in enumerate(zip(TEXTS, seconds, strict=True))]
    words = ["--input", write_lines(folder / "in.jsonl", values), "--tokenizer", tokenizer, "--output", folder / "out.h5"]
    succeed(NAME, *words, "--text-fields", "a,b" if pairs else "a", "--overwrite", *options)
    return folder / "out.h5"


def rows_in(path: Path) -> dict[str, list[list[int]]]:
    """Of each input, without padding, which is checked."""
    with h5py.File(path) as file:
        lengths = file["lengths"][...]
        assert lengths.max() == file["inputs/input_ids"].shape[1]
        found = {}
        for name, dataset in file["inputs"].items():
            rows = dataset[...]
            assert all((row[length:] == dataset.attrs["padding"]).all() for row, length in zip(rows, lengths, strict=True))
            found[name] = [row[:length].tolist() for row, length in zip(rows, lengths, strict=True)]
        return found


@pytest.mark.parametrize("length", [12, 200])
@pytest.mark.parametrize("are_pairs", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_as_transformers(
    tmp_path: Path, succeed: Tool, folders: dict[str, Path], kind: str, are_pairs: bool, length: int
) -> None:
    pairs = PAIRS if are_pairs else None
    found = rows_in(write(succeed, tmp_path, folders[kind], pairs, "--max-length", length))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[kind])
    expected = tokenizer(TEXTS, pairs, truncation=True, max_length=length)
    assert found == dict(expected)
    assert set(found) == set(tokenizer.model_input_names)
    assert (max(map(len, found["input_ids"])) == length) == (length == 12)
    for at, text in enumerate(TEXTS):  # a second text that is empty counts as none where texts are given one by one
        if pairs is None or pairs[at]:
            alone = tokenizer(text, pairs and pairs[at], truncation=True, max_length=length)
            assert {name: rows[at] for name, rows in found.items()} == dict(alone)


@pytest.mark.parametrize("kind", KINDS)
def test_file_alone(tmp_path: Path, succeed: Tool, folders: dict[str, Path], kind: str) -> None:
    (tmp_path / "alone").mkdir()
    alone = Path(shutil.copy(folders[kind] / "tokenizer.json", tmp_path / "alone"))
    options = [PAIRS, "--max-length", 20]
    from_folder, from_file = (rows_in(write(succeed, tmp_path, path, *options)) for path in (folders[kind], alone))
    assert ("token_type_ids" in from_file) == (kind in ("bert", "gpt2"))  # only where the second text has another type
    for name, rows in from_folder.items():
        assert from_file.get(name) == rows or (name == "token_type_ids" and not any(map(any, rows)))


def test_vocabulary_in_a_folder(tmp_path: Path, succeed: Tool, folders: dict[str, Path]) -> None:
    """As published before there was a tokenizer.json."""
    words = transformers.AutoTokenizer.from_pretrained(folders["bert"]).get_vocab()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "vocab.txt").write_text("".join(f"{word}\n" for word in sorted(words, key=words.__getitem__)))
    (tmp_path / "old" / "config.json").write_text('{"model_type": "bert"}')
    old, new = (rows_in(write(succeed, tmp_path, path, PAIRS)) for path in (tmp_path / "old", folders["bert"]))
    assert old == new


def padding_of(path: Path) -> int:
    with h5py.File(path) as file:
        return int(file["inputs/input_ids"].attrs["padding"])


def test_padding(tmp_path: Path, succeed: Tool, folders: dict[str, Path]) -> None:
    """The tokenizer's token, else that of the model: some models find the end of a row by it."""
    found = {kind: padding_of(write(succeed, tmp_path, folders[kind], None)) for kind in KINDS}
    assert found == {"bert": 0, "roberta": 1, "gpt2": 0, "deberta": 1, "xlm-roberta": 1}
    assert padding_of(write(succeed, tmp_path, folders["roberta"] / "tokenizer.json", None)) == 1
    folder = shutil.copytree(folders["gpt2"], tmp_path / "padded")
    (folder / "config.json").write_text('{"model_type": "gpt2", "pad_token_id": 7}')
    assert padding_of(write(succeed, tmp_path, folder, None)) == 7
    assert padding_of(write(succeed, tmp_path, folder / "tokenizer.json", None)) == 7


def test_notes(tmp_path: Path, succeed: Tool, folders: dict[str, Path]) -> None:
    source = write_lines(tmp_path / "in.jsonl", [{"text": text, "label": 1} for text in TEXTS])
    words = ["--input", source, "--output", tmp_path / "x.h5", "--overwrite", "--tokenizer"]
    printed = succeed(NAME, *words, folders["gpt2"]).stdout
    assert "names no longest row: rows have at most 512 tokens" in printed and "has no token for padding" in printed
    printed = succeed(NAME, *words, folders["roberta"], "--max-length", 12).stdout
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["roberta"])
    num_long = sum(len(ids) > 12 for ids in tokenizer(TEXTS)["input_ids"])
    assert 0 < num_long < len(TEXTS)
    assert f"note: {num_long} of {len(TEXTS)} rows were longer than 12 tokens and are cut" in printed
    limited = shutil.copytree(folders["roberta"], tmp_path / "limited")
    content = (limited / "tokenizer_config.json").read_text()
    (limited / "tokenizer_config.json").write_text(content.replace("1000000000000000019884624838656", "12"))
    assert f"note: {num_long} of {len(TEXTS)} rows were longer than 12 tokens" in succeed(NAME, *words, limited).stdout


def test_faults(tmp_path: Path, fail: Tool, folders: dict[str, Path]) -> None:
    source = write_lines(tmp_path / "in.jsonl", [{"text": "a", "label": 1}, {"text": "", "label": 0}])
    words = ["--input", source, "--tokenizer"]
    fail(NAME, "--input", source, code=2, says="--tokenizer is missing")
    fail(NAME, *words, tmp_path / "none", code=3, says="none' does not exist")
    fail(NAME, *words, source, code=3, says="in.jsonl' is not a tokenizer.json")
    (tmp_path / "empty").mkdir()
    fail(NAME, *words, tmp_path / "empty", code=3, says="empty' is not a folder with a tokenizer")
    fail(NAME, *words, folders["bert"], "--max-length", 2, code=2, says="--max-length 2 leaves no room beside 2 special")
    fail(NAME, *words, folders["gpt2"], code=3, says="line 2: the text holds no token")
    (folder := tmp_path / "code").mkdir()
    (folder / "config.json").write_text('{"model_type": "own", "auto_map": {"AutoConfig": "own.C", "AutoTokenizer": "own.T"}}')
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass C: pass\nclass T: pass\n")
    fail(NAME, *words, folder, code=3, says="code' is not a folder with a tokenizer")
    assert not (tmp_path / "ran").exists()
