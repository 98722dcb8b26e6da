# SPDX-License-Identifier: Apache-2.0
"""Reads SQuAD files (v1.1 and v2.0): contexts, questions and gold answers, each checked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import DataError
from .json_form import JsonForm, parse_json


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


class _Reader(JsonForm):
    """Walks through the file's content."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "SQuAD's form")
        self._ids: dict[str, str] = {}  # id -> its place
        self._version_2 = False

    def read(self) -> Squad:
        content = parse_json(self._path)
        articles = self.field(content, "", "data", list)
        version = content.get("version", "")
        self._version_2 = str(version).lower().removeprefix("v").startswith("2")
        found = [
            self._paragraph(paragraph, place)
            for at, article in self.items(articles, "data")
            for place, paragraph in self.items(
                self.field(article, at, "paragraphs", list), f"{at}.paragraphs"
            )
        ]
        paragraphs = [paragraph for paragraph in found if paragraph.questions]
        if not paragraphs:
            raise DataError(f"'{self._path}' holds no question")
        return Squad(paragraphs, self._version_2)

    def _paragraph(self, value: Any, place: str) -> Paragraph:
        context = self.text(value, place, "context")
        questions = [
            self._question(question, at)
            for at, question in self.items(self.field(value, place, "qas", list), f"{place}.qas")
        ]
        return Paragraph(place, context, questions)

    def _question(self, value: Any, place: str) -> Question:
        identity = self.text(value, place, "id")
        if first := self._ids.get(identity):
            raise self.wrong(place, f"has the id '{identity}' that {first} has already")
        self._ids[identity] = place
        answers = [
            self.text(answer, at, "text")
            for at, answer in self.items(self.field(value, place, "answers", list), f"{place}.answers")
        ]
        impossible = value.get("is_impossible", self._version_2 and not answers)
        self._version_2 |= "is_impossible" in value
        if not isinstance(impossible, bool):
            raise self.wrong(place, f"has is_impossible = {impossible!r}, expected true or false")
        if not impossible and not answers:
            raise self.wrong(place, f"(id '{identity}') has no answers")
        if impossible and answers:
            raise self.wrong(place, f"(id '{identity}') has answers and is_impossible = true")
        return Question(identity, self.text(value, place, "question"), answers)


def read_squad(path: Path) -> Squad:
    """Raises DataError that names the place in the file: data[3].paragraphs[0].qas[2]."""
    return _Reader(path).read()
