# SPDX-License-Identifier: Apache-2.0
"""Questions with choices, and the rows of tokens in which a language model is asked about each choice."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .errors import DataError, UsageError
from .json_form import JsonForm, parse_json_lines
from .text_tokenizers import TextTokenizer
from .token_rows import IGNORED, TokenRow

MOST_DIGITS = 19  # of a whole number of 64 bits


class Question(NamedTuple):
    """place: where it stands in the file; gold: the right one of the choices."""

    place: str
    identity: str
    text: str
    choices: list[str]
    gold: int


class _Reader(JsonForm):
    def __init__(self, args: Namespace) -> None:
        super().__init__(args.input, "the form of questions with choices")
        self._args = args
        self._known: dict[str, str] = {}

    def question(self, value: Any, place: str) -> Question:
        args = self._args
        text = self.text(value, place, args.question_field)
        choices = self.field(value, place, args.choices_field, list)
        for at, choice in self.items(choices, args.choices_field):
            if not isinstance(choice, str) or not choice:
                raise self.wrong(place, f"has no text in {at}")
            self.plain_text(choice, place, at)
        if not choices:
            raise self.wrong(place, f"has no choice in '{args.choices_field}'")
        identity = self.identity(value, place, args.id_field, self._known)
        return Question(place, identity, text, choices, self._gold(value, place, len(choices)))

    def _gold(self, value: Any, place: str, num_choices: int) -> int:
        """A number, or a text of one, as some sets have it."""
        key = self._args.gold_field
        gold = value.get(key)
        if isinstance(gold, str) and gold.isdecimal() and gold.isascii() and len(gold) <= MOST_DIGITS:
            gold = int(gold)
        gold = self.whole({key: gold}, place, key)
        if not 0 <= gold < num_choices:
            raise self.wrong(place, f"has {key} = {gold}, expected 0..{num_choices - 1}")
        return gold


def read_questions(args: Namespace) -> list[Question]:
    """Of the JSON lines of args.input, with the names of the fields that `args` has."""
    reader = _Reader(args)
    found = [reader.question(value, place) for place, value in parse_json_lines(args.input)]
    if not found:
        raise DataError(f"'{args.input}' holds no question")
    return found


class Pair(NamedTuple):
    """Two texts, of which the second is scored."""

    context: str
    continuation: str


@dataclass(frozen=True)
class ChoiceRule:
    """As the language model evaluation harness makes requests of questions and choices.

    length: tokens that the model sees; always_prefix: in front of every question, not only of empty ones.
    """

    path: Path
    tokenizer: TextTokenizer
    delimiter: str
    length: int
    always_prefix: bool

    def rows(self, questions: Sequence[Question]) -> list[list[TokenRow]]:
        """Of each question, for each of its choices."""
        contexts = self.tokenizer.ids([self._pair(question, "").context for question in questions])
        pairs = [self._pair(question, choice) for question in questions for choice in question.choices]
        whole = iter(self.tokenizer.ids([pair.context + pair.continuation for pair in pairs]))
        return [
            [self._row(question, number, context, next(whole)) for number in range(len(question.choices))]
            for question, context in zip(questions, contexts, strict=True)
        ]

    def _pair(self, question: Question, choice: str) -> Pair:
        """White space at the end of the question goes to the choice: tokens mostly begin with it."""
        context = question.text.rstrip()
        return Pair(context, question.text[len(context) :] + self.delimiter + choice)

    def _row(self, question: Question, number: int, context: np.ndarray, whole: np.ndarray) -> TokenRow:
        where = f"'{self.path}': choice {number} of {question.place} (id '{question.identity}')"
        num_scored = len(whole) - len(context)
        if num_scored < 1:
            raise DataError(f"{where} has no token of its own behind the question; see --delimiter")
        if num_scored > self.length:
            raise DataError(f"{where} is {num_scored} tokens long, more than --max-length {self.length}")
        if self.always_prefix or len(context) == 0:
            if self.tokenizer.prefix is None:
                raise UsageError(f"{where}: the question holds no token; give --prefix-token")
            context = np.concatenate([np.array([self.tokenizer.prefix], np.int32), context])
        # A token of the whole may span the boundary: the model is given the question as it is when it stands alone.
        seen = np.concatenate([context, whole[-num_scored:]])
        seen = seen[-(self.length + 1) :]  # what is too long is cut at its left end
        labels = seen[1:].copy()
        labels[:-num_scored] = IGNORED
        return TokenRow(seen[:-1], labels)
