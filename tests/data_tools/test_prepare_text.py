# SPDX-License-Identifier: Apache-2.0
"""prepare_text: windows beside plain re-implementations of the two well-known loops, each token once, and refusals."""

import os
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from ragged import texts
from token_sets import DOCUMENTS, IGNORED, Row, read_rows, write_documents

from conftest import Tool

NAME = "prepare_text"
PREFIX = 256
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, succeed: Tool) -> Write:
    """write(*options, documents=...) -> the data set file."""

    def run(*options: object, documents: dict[str, str] = DOCUMENTS) -> Path:
        source, output = write_documents(tmp_path / "in.jsonl", documents), tmp_path / "out.h5"
        succeed(NAME, "--input", source, "--tokenizer", "bytes", "--output", output, "--overwrite", *options)
        return output

    return run


def hugging_face_rows(tokens: list[int], length: int, stride: int) -> list[Row]:
    """The guide's loop; the model shifts labels by itself, so the last place of a window is of no use."""
    rows, previous_end = [], 0
    for begin in range(0, len(tokens), stride):
        end = min(begin + length, len(tokens))
        target_length = end - previous_end
        input_ids = tokens[begin:end]
        target_ids = [IGNORED] * (len(input_ids) - target_length) + input_ids[len(input_ids) - target_length :]
        rows.append((input_ids[:-1], target_ids[1:]))
        previous_end = end
        if end == len(tokens):
            break
    return rows


def harness_rows(tokens: list[int], length: int) -> list[Row]:
    """Disjoint predictions, the last window with a full context: LM.loglikelihood_rolling says so by an example."""
    sequence, rows = [PREFIX, *tokens], []
    for begin in range(0, len(tokens), length):
        end = min(begin + length, len(tokens))
        first = max(0, end - length)
        labels = [IGNORED] * (begin - first) + tokens[begin:end]
        rows.append((sequence[first:end], labels))
    return rows


def tokens_of(text: str) -> list[int]:
    return list(text.encode())


@pytest.mark.parametrize(("length", "stride"), [(8, 1), (8, 3), (8, 7), (16, 8), (500, 20), (2, 1)])
def test_as_hugging_faces_loop(write: Write, length: int, stride: int) -> None:
    found = read_rows(write("--max-length", length, "--stride", stride))
    for rows, text in zip(found, DOCUMENTS.values(), strict=True):
        if len(text) > 1:
            assert rows == hugging_face_rows(tokens_of(text), length, stride)


@pytest.mark.parametrize("length", [1, 4, 7, 50, 300])
def test_as_the_harness(write: Write, length: int) -> None:
    documents = DOCUMENTS | {"ten": "0123456789"}
    options = ["--max-length", length, "--prefix-token", "<|endoftext|>", "--full-last-window"]
    found = read_rows(write(*options, documents=documents))
    for rows, text in zip(found, documents.values(), strict=True):
        if text:
            assert rows == harness_rows(tokens_of(text), length)
    if length == 4:  # the example of its documentation
        ten = tokens_of("0123456789")
        assert found[-1] == [
            ([PREFIX, *ten[:3]], ten[:4]),
            (ten[3:7], ten[4:8]),
            (ten[5:9], [IGNORED] * 2 + ten[8:]),
        ]


@pytest.mark.parametrize("full_last", [False, True])
@pytest.mark.parametrize("with_prefix", [False, True])
@pytest.mark.parametrize(("length", "stride"), [(1, 1), (2, 2), (8, 8), (8, 5), (9, 1), (1024, 1024)])
def test_each_token_once(write: Write, length: int, stride: int, with_prefix: bool, full_last: bool) -> None:
    """Each is scored after the tokens that stand before it, at most `length` of them, as many as the stride leaves."""
    options = ["--prefix-token", "<s>"] * with_prefix + ["--full-last-window"] * full_last
    found = read_rows(write("--max-length", length, "--stride", stride, *options))
    for rows, text in zip(found, DOCUMENTS.values(), strict=True):
        tokens = tokens_of(text)
        sequence, scored = [PREFIX] * with_prefix + tokens, []
        place = 0  # in the sequence, of the token that is to be scored next
        for seen, labels in rows:
            assert 1 <= len(seen) <= length
            own = [at for at, label in enumerate(labels) if label != IGNORED]
            if not own:
                continue
            assert own == list(range(own[0], len(seen)))
            place = place or own[0] + 1
            begin = place - 1 - own[0]
            assert sequence[begin : begin + len(seen)] == seen
            assert [labels[at] for at in own] == sequence[begin + own[0] + 1 : begin + len(seen) + 1]
            if begin > 0 and own[0] > 0:
                assert own[0] + 1 >= length - stride
            scored += [labels[at] for at in own]
            place += len(own)
        assert scored == sequence[1:]
        if not scored:
            assert rows == [([PREFIX] if with_prefix else [*tokens, 0][:1], [IGNORED])]


def test_layout(write: Write) -> None:
    with h5py.File(write("--max-length", 20)) as file:
        assert dict(file.attrs) == {
            "tally_schema": 1, "task": b"language-model", "num_classes": 256, "ignore_index": IGNORED,
        }  # fmt: skip
        num_rows = len(file["lengths"])
        expected = {
            "inputs/input_ids": ("<i4", (num_rows, 20)),
            "inputs/attention_mask": ("|u1", (num_rows, 20)),
            "lengths": ("<i4", (num_rows,)),
            "targets/label": ("<i4", (num_rows, 20)),
            "targets/unit": ("<i8", (num_rows,)),
            "units/bytes": ("<i8", (5,)),
            "units/words": ("<i8", (5,)),
            "units/id/offsets": ("<i8", (6,)),
            "units/id/values": ("|u1", (13,)),
        }
        for name, form in expected.items():
            assert (file[name].dtype.str, file[name].shape) == form and f"checksums/{name}" in file, name
        assert file["inputs/input_ids"].attrs["padding"] == file["inputs/attention_mask"].attrs["padding"] == 0
        assert file["targets/unit"][...].tolist() == sorted(file["targets/unit"][...])
        assert set(file["targets/unit"][...]) == set(range(5))
        assert texts(file["units/id"]) == list(DOCUMENTS)
        assert file["units/bytes"][...].tolist() == [len(text.encode()) for text in DOCUMENTS.values()]
        assert file["units/words"][...].tolist() == [6, 1, 0, 50, 1]


def test_rows_are_as_long_as_the_longest(write: Write) -> None:
    with h5py.File(write(documents={"a": "abc", "b": "defgh"})) as file:
        assert file["inputs/input_ids"].shape == (2, 4)
    with h5py.File(write("--prefix-token", "<s>", documents={"a": "abc", "b": "defgh"})) as file:
        assert file["inputs/input_ids"].shape == (2, 5) and file.attrs["num_classes"] == 257


def test_sources(tmp_path: Path, succeed: Tool) -> None:
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    (folder / "z.txt").write_bytes(b"first\r\n")
    (folder / "a.txt").write_text("second")
    (folder / "more" / "b.txt").write_text("\ufeffthird")
    (folder / "notes.md").write_text("no document")

    def stored(source: Path, *options: str) -> list[tuple[str, int]]:
        output = tmp_path / "out.h5"
        succeed(NAME, "--input", source, "--tokenizer", "bytes", "--output", output, "--overwrite", *options)
        with h5py.File(output) as file:
            return list(zip(texts(file["units/id"]), file["units/bytes"][...].tolist(), strict=True))

    assert stored(folder) == [("a.txt", 6), ("more/b.txt", 8), ("z.txt", 7)]
    assert stored(folder / "z.txt") == [("z.txt", 7)]
    lines = tmp_path / "in.jsonl"
    lines.write_text('\ufeff{"name": 7, "body": "a\u2028b"}\r\n\n{"body": "cd", "id": "x"}\n')
    assert stored(lines, "--id-field", "name", "--text-field", "body") == [("7", 5), ("3", 2)]


def test_same_bytes_in_pieces(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, succeed: Tool) -> None:
    whole = write("--max-length", 16, "--stride", 4).read_bytes()
    monkeypatch.setattr("tally_data.document_set.ROWS_PER_PIECE", 7)
    words = ["--tokenizer", "bytes", "--max-length", 16, "--stride", 4, "--output", tmp_path / "pieces.h5"]
    succeed(NAME, "--input", tmp_path / "in.jsonl", *words)
    assert (tmp_path / "pieces.h5").read_bytes() == whole


BAD_LINES = [
    ('{"text": "a"}\n{"text": "b"', "in.jsonl', line 2, is not JSON"),
    ('{"id": "a", "text": 3}', "is not in the form of documents: line 1 has no 'text' that is text"),
    ("[1]", "line 1 has no 'text' that is text"),
    ('{"id": true, "text": "a"}', "line 1 has no 'id' that is text or a whole number"),
    ('{"id": "q", "text": "a"}\n\n{"id": "q", "text": "b"}', "line 3 has the id 'q' that line 1 has already"),
    ('{"id": "q", "text": "\\ud83d"}', "line 1 has a 'text' with half a surrogate pair"),
    ("\n", "holds no document"),
    ('{"text": ""}\n{"text": "a"}', "holds no token to score"),
]


@pytest.mark.parametrize(("content", "says"), BAD_LINES)
def test_bad_lines(tmp_path: Path, fail: Tool, content: str, says: str) -> None:
    (tmp_path / "in.jsonl").write_text(content)
    fail(NAME, "--input", tmp_path / "in.jsonl", "--tokenizer", "bytes", code=3, says=says)


def test_bad_files(tmp_path: Path, fail: Tool) -> None:
    text = tmp_path / "a.txt"
    words = ["--input", text, "--tokenizer", "bytes"]
    fail(NAME, *words, code=3, says="a.txt' does not exist")
    text.write_bytes(b"\xff")
    fail(NAME, *words, code=3, says="a.txt' is not text in UTF-8")
    (tmp_path / "empty").mkdir()
    fail(NAME, "--input", tmp_path / "empty", "--tokenizer", "bytes", code=3, says="empty' holds no .txt file")


def test_names_that_are_not_utf8(tmp_path: Path, fail: Tool) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    file = folder / os.fsdecode(b"gr\xfc.txt")
    file.write_text("abc")
    for source in (folder, file):
        says = f"the name of '{file}' is not text in UTF-8; rename the file"
        fail(NAME, "--input", source, "--tokenizer", "bytes", code=3, says=says)


def test_usage_faults(tmp_path: Path, fail: Tool) -> None:
    words = ["--input", write_documents(tmp_path / "in.jsonl", DOCUMENTS), "--tokenizer", "bytes"]
    fail(NAME, *words, "--max-length", 8, "--stride", 9, code=2, says="--stride 9 would skip tokens")
    fail(NAME, *words, "--stride", 0, code=2, says="--stride")
