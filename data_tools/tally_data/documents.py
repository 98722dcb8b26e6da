# SPDX-License-Identifier: Apache-2.0
"""Documents of which a language model's perplexity is told."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .errors import DataError, reading
from .json_form import JsonForm, parse_json_lines
from .text_tokenizers import read_text

JSON_LINES = (".jsonl", ".ndjson", ".json")


class Document(NamedTuple):
    identity: str
    text: str

    @property
    def num_words(self) -> int:
        """Between white space."""
        return len(self.text.split())


def _read(file: Path, name: str) -> Document:
    """Of a file that has its name as its id."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"the name of '{file}' is not text in UTF-8; rename the file") from error
    return Document(name, read_text(file))


def _folder(path: Path) -> Iterator[Document]:
    return (_read(file, file.relative_to(path).as_posix()) for file in sorted(path.rglob("*.txt")))


def _json_lines(path: Path, id_field: str, text_field: str) -> Iterator[Document]:
    form, known = JsonForm(path, "the form of documents"), {}
    for place, value in parse_json_lines(path):
        text = form.text(value, place, text_field)
        yield Document(form.identity(value, place, id_field, known), text)


def read_documents(path: Path, id_field: str, text_field: str) -> list[Document]:
    """Of a folder's .txt files by name, of the lines of a JSON-lines file, or of one text."""
    with reading(path):
        path.stat()
    if path.is_dir():
        found, what = list(_folder(path)), ".txt file"
    elif path.suffix in JSON_LINES:
        found, what = list(_json_lines(path, id_field, text_field)), "document"
    else:
        return [_read(path, path.name)]
    if not found:
        raise DataError(f"'{path}' holds no {what}")
    return found
