# SPDX-License-Identifier: Apache-2.0
"""prepare_token_classification: labels at the pieces of words as run_ner.py puts them, forms of files, and each refusal."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest
import transformers
from ragged import texts
from token_sets import IGNORED, write_lines
from tokenizer_folders import save_tokenizer_folder

from conftest import Tool

NAME = "prepare_token_classification"
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "POS"]
WORDS = [
    ["The", "quick", "fox", "jumps", "in", "München", "."], ["U.S.", "policy", "isn't", "here"], ["\u200b", "dog"], ["cat"],
    ["unknown", "☃", "[SEP]", "a b"], ["dog", "and", "cat"] * 8,
]  # fmt: skip
NUMBERS = [[number % 5 for number in range(at, at + len(words))] for at, words in enumerate(WORDS)]
KINDS = ("bert", "roberta", "gpt2", "xlm-roberta")
Write = Callable[..., Path]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("tokenizers")
    return {kind: save_tokenizer_folder(base / kind, kind) for kind in KINDS}


@pytest.fixture
def write(tmp_path: Path, succeed: Tool, folders: dict[str, Path]) -> Write:
    """write(source, *options) -> the data set file; source: a path, or the tags of WORDS."""

    def run(source: Path | list[Any], *options: object) -> Path:
        if isinstance(source, list):
            values = [{"tokens": words, "tags": tags} for words, tags in zip(WORDS, source, strict=False)]
            source = write_lines(tmp_path / "in.jsonl", values)
        words = ["--input", source, "--output", tmp_path / "x.h5", "--overwrite", *options]
        if not {"--tokenizer", "--like"} & set(map(str, options)):
            words += ["--tokenizer", folders["bert"]]
        printed = succeed(NAME, *words).stdout
        (tmp_path / "printed").write_text(printed)
        return tmp_path / "x.h5"

    return run


def names_file(path: Path) -> Path:
    path.write_text("\n".join(TAGS))
    return path


def aligned(folder: Path, length: int, label_all_tokens: bool) -> list[list[int]]:
    """By run_ner's way through transformers' fast tokenizers: word_ids() of what is split into words."""
    needs_space = json.loads((folder / "config.json").read_text())["model_type"] in ("bloom", "gpt2", "roberta", "deberta")
    options = {"add_prefix_space": True} if needs_space else {}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
    encoded = tokenizer(WORDS, truncation=True, max_length=length, is_split_into_words=True)
    inside = [TAGS.index(tag.replace("B-", "I-")) if tag.replace("B-", "I-") in TAGS else at for at, tag in enumerate(TAGS)]
    found = []
    for at, tags in enumerate(NUMBERS):
        labels, before = [], None
        for word in encoded.word_ids(at):
            if word is None:
                labels.append(-100)
            elif word != before:
                labels.append(tags[word])
            else:
                labels.append(inside[tags[word]] if label_all_tokens else -100)
            before = word
        found.append(labels)
    return [list(zip(ids, labels, strict=True)) for ids, labels in zip(encoded["input_ids"], found, strict=True)]


def read_rows(path: Path) -> list[list[tuple[int, int]]]:
    """Of each row its tokens with their labels; what stands behind them is checked."""
    with h5py.File(path) as file:
        columns = (file[name][...] for name in ("inputs/input_ids", "targets/label", "inputs/attention_mask", "lengths"))
        found = []
        for ids, label, mask, length in zip(*columns, strict=True):
            assert (label[length:] == IGNORED).all() and mask.tolist() == [1] * length + [0] * (len(mask) - length)
            found.append(list(zip(ids[:length].tolist(), label[:length].tolist(), strict=True)))
        return found


@pytest.mark.parametrize("all_pieces", [False, True])
@pytest.mark.parametrize("length", [10, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_as_run_ner(
    tmp_path: Path, write: Write, folders: dict[str, Path], kind: str, length: int, all_pieces: bool
) -> None:
    folder = folders[kind]
    options = ["--class-names", names_file(tmp_path / "names"), "--max-length", length, *["--label-all-pieces"] * all_pieces]
    expected = aligned(folder, length, all_pieces)
    for tags in (NUMBERS, [[TAGS[number] for number in row] for row in NUMBERS]):
        for tokenizer in (folder, folder / "tokenizer.json"):
            assert read_rows(write(tags, "--tokenizer", tokenizer, *options)) == expected
    num_pieces = sum(label != IGNORED for row in expected for _, label in row)
    assert length == 10 or (num_pieces > sum(map(len, WORDS))) == all_pieces


def test_layout(tmp_path: Path, write: Write) -> None:
    with h5py.File(write(NUMBERS, "--class-names", names_file(tmp_path / "names"))) as file:
        assert dict(file.attrs) == {
            "tally_schema": 1, "task": b"token-classification", "num_classes": 5, "ignore_index": IGNORED,
        }  # fmt: skip
        assert [name.decode() for name in file["class_names"]] == TAGS
        length = int(file["lengths"][...].max())
        for name, dtype in {"inputs/input_ids": "<i4", "inputs/attention_mask": "|u1", "inputs/token_type_ids": "|u1",
                            "targets/label": "<i8"}.items():  # fmt: skip
            assert (file[name].dtype.str, file[name].shape) == (dtype, (len(WORDS), length)) and f"checksums/{name}" in file
            assert file[name].attrs.get("padding") == (0 if name.startswith("inputs") else None)
        assert set(file["targets"]) == {"label"}


def test_notes(tmp_path: Path, write: Write, folders: dict[str, Path]) -> None:
    """On words that are lost, as many as a fast tokenizer's words say."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["bert"])
    whole, cut = (tokenizer(WORDS, truncation=True, max_length=length, is_split_into_words=True) for length in (200, 10))
    of_whole, of_cut = ([set(found.word_ids(at)) for at in range(len(WORDS))] for found in (whole, cut))
    num_lost = sum(len(one - other) for one, other in zip(of_whole, of_cut, strict=True))
    num_empty = sum(map(len, WORDS)) - sum(len(words - {None}) for words in of_whole)
    assert num_lost > 0 and num_empty == 1
    write(NUMBERS, "--max-length", 10)
    printed = (tmp_path / "printed").read_text()
    num_cut = sum(len(ids) > 10 for ids in whole["input_ids"])
    assert f"note: {num_cut} of 6 sentences were longer than 10 tokens and are cut: {num_lost} words are lost" in printed
    assert "note: the tokenizer makes no token of 1 words: they are not scored" in printed
    write(NUMBERS[:1], "--max-length", 200)
    assert "words" not in (tmp_path / "printed").read_text()


CONLL = """-DOCSTART- -X- -X- O

The DT B-NP O
quick JJ I-NP B-PER

-DOCSTART- -X- -X- O
# # O I-PER
U\u2028S NN O O
"""
UNIVERSAL = """# sent_id = 1
1\tdo\tdo\tAUX\t_
2-3\tisn't\t_\t_\t_
2\tis\t_\tAUX\t_
3\tn't\tnot\tPART\t_
3.1\tdog\tdog\tNOUN\t_

# a comment
1\tcat\tcat\tNOUN\t_
"""


@pytest.mark.parametrize(("name", "content", "options", "expected"), [
    ("a.conll", CONLL, [], [("The", "O"), ("quick", "B-PER"), None, ("#", "I-PER"), ("U\u2028S", "O")]),
    ("a.txt", CONLL.replace("\n", "\r\n"), ["--tag-column", 3],
     [("The", "B-NP"), ("quick", "I-NP"), None, ("#", "O"), ("U\u2028S", "O")]),
    ("a.tsv", "New York\tB-LOC\na \tO\n \t \ndog\tO", [], [("New York", "B-LOC"), ("a ", "O"), None, ("dog", "O")]),
    ("a.iob", "O The\nB-PER  dog\n", ["--token-column", 2, "--tag-column", 1], [("The", "O"), ("dog", "B-PER")]),
    ("a.conllu", UNIVERSAL, [], [("do", "AUX"), ("is", "AUX"), ("n't", "PART"), None, ("cat", "NOUN")]),
])  # fmt: skip
def test_conll(
    tmp_path: Path, write: Write, name: str, content: str, options: list[Any], expected: list[tuple[str, str] | None]
) -> None:
    (tmp_path / name).write_bytes(content.encode())
    from_conll = contents(write(tmp_path / name, *options))
    sentences: list[dict[str, list[str]]] = [{"tokens": [], "tags": []}]
    for pair in expected:
        if pair is None:
            sentences.append({"tokens": [], "tags": []})
        else:
            sentences[-1]["tokens"].append(pair[0])
            sentences[-1]["tags"].append(pair[1])
    assert contents(write(write_lines(tmp_path / "same.jsonl", sentences))) == from_conll


def contents(path: Path) -> list[Any]:
    with h5py.File(path) as file:
        assert len(texts(file["samples/name"])) == len(file["lengths"])
        return [file[name][...].tolist() for name in ("class_names", "inputs/input_ids", "targets/label", "lengths")]


def test_names_of_samples(tmp_path: Path, write: Write) -> None:
    (tmp_path / "a.conll").write_text("\na O\nb X\n\nc O\n")
    with h5py.File(write(tmp_path / "a.conll")) as file:
        assert texts(file["samples/name"]) == ["line 2", "line 5"]
    rows = [{"tokens": ["a"], "tags": [0], "id": "s-1"}, {"tokens": ["b"], "tags": [1], "id": "s-2"}]
    with h5py.File(write(write_lines(tmp_path / "in.jsonl", rows))) as file:
        assert texts(file["samples/name"]) == ["s-1", "s-2"]


def test_names_of_a_hugging_face_set(tmp_path: Path, write: Write, folders: dict[str, Path]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    feature = {"ner_tags": {"feature": {"names": ["O", "B-PER", "I-PER"], "_type": "ClassLabel"}, "_type": "Sequence"}}
    schema = pyarrow.schema({"tokens": pyarrow.list_(pyarrow.string()), "ner_tags": pyarrow.list_(pyarrow.int64())})
    schema = schema.with_metadata({"huggingface": json.dumps({"info": {"features": feature}})})
    table = pyarrow.table({"tokens": [["The", "fox"], ["dog"]], "ner_tags": [[0, 1], [2]]}, schema=schema)
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    model = save_tokenizer_folder(tmp_path / "model", "bert")
    (model / "config.json").write_text(json.dumps({"model_type": "bert", "id2label": {0: "B-PER", 1: "I-PER", 2: "O"}}))
    own = read_rows(write(tmp_path / "a.parquet", "--tags-field", "ner_tags"))
    renumbered = read_rows(write(tmp_path / "a.parquet", "--tags-field", "ner_tags", "--like", f"hf:{model}"))
    assert [[label for _, label in row] for row in own] == [[IGNORED, 0, 1, IGNORED], [IGNORED, 2, IGNORED]]
    assert [[label for _, label in row] for row in renumbered] == [[IGNORED, 2, 0, IGNORED], [IGNORED, 1, IGNORED]]


def test_words_that_are_not_scored(write: Write) -> None:
    rows = read_rows(write([[0, 1, -100, None, -1, 2, 0]], "--max-length", 200))
    assert [label for _, label in rows[0] if label != IGNORED] == [0, 1, 2, 0]


FORM = "is not in the form of tagged sentences: line 1 has"


def one(**values: Any) -> dict[str, Any]:
    return {"tokens": ["a", "b"], "tags": [0, 1]} | values


@pytest.mark.parametrize(("row", "says"), [
    (one(tokens="ab"), f"{FORM} no 'tokens' that is a list"),
    (one(tags=None), f"{FORM} no 'tags' that is a list"),
    (one(tags=[0]), f"{FORM} 2 'tokens' and 1 'tags'"),
    (one(tokens=["a", 1]), f"{FORM} no text in tokens[1]"),
    (one(tokens=["a", "\ud83d"]), f"{FORM} a 'tokens[1]' with half a surrogate pair"),
    (one(tags=[0, 0.5]), f"{FORM} no tag in tags[1]"),
    (one(tags=[0, "O"]), f"{FORM} a 'tags' that is a number, others are names"),
    (one(tags=[0, -2]), f"{FORM} tags = -2, expected 0..1"),
    (one(tags=[-100, None]), "has no word with a tag: there is nothing to score"),
    (one(tags=["O", "O"]), "all labels are 'O': name all classes with --class-names or --like"),
])  # fmt: skip
def test_bad_rows(tmp_path: Path, fail: Tool, folders: dict[str, Path], row: dict[str, Any], says: str) -> None:
    fail(NAME, "--input", write_lines(tmp_path / "in.jsonl", [row]), "--tokenizer", folders["bert"], code=3, says=says)


@pytest.mark.parametrize(("content", "says"), [
    (b"a O\nb\n", "a.conll', line 2, has 1 columns, expected a word in column 1 and a tag in column 2"),
    (b"a\t\n", "a.conll', line 1, has no tag in column 2"),
    (b"\n-DOCSTART- O\n", "a.conll' holds no sentence"),
    (b"\xff O\n", "a.conll' is not text in UTF-8"),
])  # fmt: skip
def test_bad_conll(tmp_path: Path, fail: Tool, folders: dict[str, Path], content: bytes, says: str) -> None:
    (tmp_path / "a.conll").write_bytes(content)
    fail(NAME, "--input", tmp_path / "a.conll", "--tokenizer", folders["bert"], code=3, says=says)


def test_other_faults(tmp_path: Path, fail: Tool, folders: dict[str, Path]) -> None:
    source = write_lines(tmp_path / "in.jsonl", [one(), one(tokens=[], tags=[])])
    fail(NAME, "--input", source, code=2, says="--tokenizer is missing")
    fail(NAME, "--input", source, "--tokenizer", folders["gpt2"], code=3, says="line 2: the sentence holds no token")
    words = ["--input", source, "--tokenizer", folders["bert"]]
    fail(NAME, *words, "--tag-column", 2, code=2, says="--token-column and --tag-column are for CoNLL files")
    names_file(tmp_path / "names")
    write_lines(source, [one(tags=["O", "B-ORG"])])
    fail(NAME, *words, "--class-names", tmp_path / "names", code=3, says="has the tags 'B-ORG', which '")
    write_lines(source, [one(tokens=["\u200b", "a"], tags=[0, None])])
    fail(NAME, *words, code=3, says="has no word to score")
