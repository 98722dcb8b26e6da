# SPDX-License-Identifier: Apache-2.0
"""Sentences of words with a tag each: from CoNLL files, JSON lines, parquet files or Hugging Face data sets."""

import re
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .class_numbers import ClassNumbers, GivenClasses, Label, Numbering, given_classes, label_of
from .errors import DataError, UsageError, reading
from .json_form import JsonForm
from .options import ToolParser, positive
from .records import JSON_LINES, Records, names_of, read_records

NOT_TAGGED = (-1, -100)  # numbers of words that are not to be scored
UNIVERSAL = ".conllu"  # of Universal Dependencies: columns, comments and lines of its own
_NO_WORD = re.compile(r"\d+[-.]\d+\t")  # there: a word that stands for several, or one that was left out


class Sentence(NamedTuple):
    """place: where it stands in the file; tags: of each word, None where it is not to be scored; name: what it is called."""

    place: str
    words: list[str]
    tags: list[Label | None]
    name: str


@dataclass(frozen=True)
class Tagged:
    sentences: list[Sentence]
    tags: ClassNumbers


def add_sentence_options(parser: ToolParser) -> None:
    parser.add_argument("--tokens-field", default="tokens", metavar="NAME", help="of the list of words, default %(default)s")
    parser.add_argument("--tags-field", default="tags", metavar="NAME", help="of the list of their tags, default %(default)s")
    parser.add_argument("--token-column", type=positive, metavar="N", help="of a CoNLL file, default 1 (.conllu: 2)")
    parser.add_argument("--tag-column", type=positive, metavar="N", help="of a CoNLL file, default the last (.conllu: 4)")


def read_tagged(args: Namespace) -> Tagged:
    """Prints in which order the tags are."""
    form, given = JsonForm(args.input, "the form of tagged sentences"), given_classes(args.class_names, args.like)
    if _is_conll(args.input):
        if args.split is not None or args.id_field is not None:
            raise UsageError(f"--{'id-field' if args.split is None else 'split'} is not for CoNLL files")
        sentences, key, own_names = list(_Conll(args, given).sentences()), "tag", None
    else:
        if args.token_column or args.tag_column:
            raise UsageError("--token-column and --tag-column are for CoNLL files; others have --tokens-field and --tags-field")
        key = args.tags_field
        fields = [args.tokens_field, key, *([args.id_field] if args.id_field else [])]
        records = read_records(args.input, args.split, fields=fields)
        sentences = list(_of_records(records, form, args, given))
        own_names = records.class_names.get(key)
    if not sentences:
        raise DataError(f"'{args.input}' holds no sentence")
    first: dict[Label, str] = {}
    for sentence in sentences:
        for tag in sentence.tags:
            if tag is not None:
                first.setdefault(tag, sentence.place)
    if not first:
        raise DataError(f"'{args.input}' has no word with a tag: there is nothing to score")
    return Tagged(sentences, Numbering(form, key, given, own_names).numbers(first, 2))


def _is_conll(path: Path) -> bool:
    return not path.is_dir() and path.suffix not in (*JSON_LINES, ".parquet")


def _of_records(records: Records, form: JsonForm, args: Namespace, given: GivenClasses | None) -> Iterator[Sentence]:
    names = names_of(records, form, args.id_field)
    for (place, row), name in zip(records.rows, names, strict=True):
        words = form.field(row, place, args.tokens_field, list)
        tags = form.field(row, place, args.tags_field, list)
        if len(words) != len(tags):
            raise form.wrong(place, f"has {len(words)} '{args.tokens_field}' and {len(tags)} '{args.tags_field}'")
        for at, word in form.items(words, args.tokens_field):
            if not isinstance(word, str):
                raise form.wrong(place, f"has no text in {at}")
            form.plain_text(word, place, at)
        numbered = [_tag(form, tag, place, at, given) for at, tag in form.items(tags, args.tags_field)]
        yield Sentence(place, words, numbered, name)


def _tag(form: JsonForm, value: Any, place: str, at: str, given: GivenClasses | None) -> Label | None:
    if value is None:
        return None
    tag = label_of(value, given)
    if tag is None:
        raise form.wrong(place, f"has no tag in {at}")
    if isinstance(tag, str):
        return form.plain_text(tag, place, at)
    return None if tag in NOT_TAGGED else tag


class _Conll:
    """A word in each line, with columns between tabs or blanks, and a blank line behind each sentence."""

    def __init__(self, args: Namespace, given: GivenClasses | None) -> None:
        self._path, self._given = args.input, given
        self._is_universal = args.input.suffix == UNIVERSAL
        self._token = args.token_column or (2 if self._is_universal else 1)
        self._tag = args.tag_column or (4 if self._is_universal else None)

    def sentences(self) -> Iterator[Sentence]:
        words: list[str] = []
        tags: list[Label | None] = []
        begin = 0
        for number, line in enumerate([*self._lines(), ""], start=1):
            if not line.strip() or line.startswith("-DOCSTART-"):
                if words:
                    yield Sentence(f"line {begin}", words, tags, f"line {begin}")
                words, tags = [], []
            elif not self._is_skipped(line):
                begin = begin if words else number
                word, tag = self._columns(line, number)
                words.append(word)
                tags.append(tag)

    def _lines(self) -> list[str]:
        """Words may hold what Python takes for the end of a line, such as U+2028."""
        with reading(self._path):
            try:
                return self._path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").split("\n")
            except UnicodeDecodeError as error:
                raise DataError(f"'{self._path}' is not text in UTF-8") from error

    def _is_skipped(self, line: str) -> bool:
        return self._is_universal and (line.startswith("#") or _NO_WORD.match(line) is not None)

    def _columns(self, line: str, number: int) -> tuple[str, Label]:
        columns = line.split("\t") if "\t" in line else [part for part in line.split(" ") if part]
        tag_column = self._tag or max(len(columns), 2)
        if len(columns) < max(self._token, tag_column):
            raise DataError(
                f"'{self._path}', line {number}, has {len(columns)} columns, expected a word in column {self._token} and a "
                f"tag in column {tag_column}"
            )
        tag = columns[tag_column - 1].strip()
        if not tag:
            raise DataError(f"'{self._path}', line {number}, has no tag in column {tag_column}")
        found = label_of(tag, self._given)
        assert found is not None
        return columns[self._token - 1], found
