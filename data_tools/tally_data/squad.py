"""Reads SQuAD files (v1.1 and v2.0): contexts, questions and gold answers, each checked."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import DataError, reading


@dataclass(frozen=True)
class Question:
    """answers: as in the file; none where the paragraph does not hold the answer."""

    identity: str
    text: str
    answers: list[str]


@dataclass(frozen=True)
class Paragraph:
    """place: where it stands in the file."""

    place: str
    context: str
    questions: list[Question]


@dataclass(frozen=True)
class Squad:
    """Paragraphs that have questions, in the order of the file."""

    paragraphs: list[Paragraph]
    may_have_no_answer: bool  # v2.0

    @property
    def num_questions(self) -> int:
        return sum(len(paragraph.questions) for paragraph in self.paragraphs)


class _Reader:
    """Walks through the file's content and knows how to name each place in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids: dict[str, str] = {}  # id -> its place
        self._version_2 = False

    def read(self) -> Squad:
        with reading(self._path):
            try:
                content = json.loads(self._path.read_text(encoding="utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise DataError(f"'{self._path}' is not a JSON file: {error}") from error
        articles = self._field(content, "", "data", list)
        version = content.get("version", "")
        self._version_2 = str(version).lower().removeprefix("v").startswith("2")
        found = [
            self._paragraph(paragraph, place)
            for at, article in self._items(articles, "data")
            for place, paragraph in self._items(
                self._field(article, at, "paragraphs", list), f"{at}.paragraphs"
            )
        ]
        paragraphs = [paragraph for paragraph in found if paragraph.questions]
        if not paragraphs:
            raise DataError(f"'{self._path}' holds no question")
        return Squad(paragraphs, self._version_2)

    def _paragraph(self, value: Any, place: str) -> Paragraph:
        context = self._text(value, place, "context")
        questions = [
            self._question(question, at)
            for at, question in self._items(self._field(value, place, "qas", list), f"{place}.qas")
        ]
        return Paragraph(place, context, questions)

    def _question(self, value: Any, place: str) -> Question:
        identity = self._text(value, place, "id")
        if first := self._ids.get(identity):
            raise self._wrong(place, f"has the id '{identity}' that {first} has already")
        self._ids[identity] = place
        answers = [
            self._text(answer, at, "text")
            for at, answer in self._items(self._field(value, place, "answers", list), f"{place}.answers")
        ]
        impossible = value.get("is_impossible", self._version_2 and not answers)
        self._version_2 |= "is_impossible" in value
        if not isinstance(impossible, bool):
            raise self._wrong(place, f"has is_impossible = {impossible!r}, expected true or false")
        if not impossible and not answers:
            raise self._wrong(place, f"(id '{identity}') has no answers")
        if impossible and answers:
            raise self._wrong(place, f"(id '{identity}') has answers and is_impossible = true")
        return Question(identity, self._text(value, place, "question"), answers)

    def _field(self, value: Any, place: str, key: str, kind: type) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get(key), kind):
            what = {list: "a list", str: "text"}[kind]
            raise self._wrong(place or "the top", f"has no '{key}' that is {what}")
        return value[key]

    def _text(self, value: Any, place: str, key: str) -> str:
        text: str = self._field(value, place, key, str)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self._wrong(place, f"has a '{key}' with half a surrogate pair, which is no character") from error
        return text

    @staticmethod
    def _items(values: list[Any], place: str) -> Iterator[tuple[str, Any]]:
        return ((f"{place}[{index}]", value) for index, value in enumerate(values))

    def _wrong(self, place: str, what: str) -> DataError:
        return DataError(f"'{self._path}' is not in SQuAD's form: {place} {what}")


def read_squad(path: Path) -> Squad:
    """Raises DataError that names the place in the file: data[3].paragraphs[0].qas[2]."""
    return _Reader(path).read()
