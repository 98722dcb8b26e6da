# SPDX-License-Identifier: Apache-2.0
"""Writes the data set file of questions on paragraphs: SCHEMA.md, question answering."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .set_file import SetFile
from .squad import Squad
from .windows import Rows, Window, WindowRule
from .wordpiece import Tokens, WordPieceTokenizer

QUESTIONS_PER_PIECE = 512


@dataclass(frozen=True)
class QuestionSet:
    """questions and windows: for each question of `squad`, in order; contexts: for each paragraph."""

    squad: Squad
    tokenizer: WordPieceTokenizer
    rule: WindowRule
    contexts: list[Tokens]
    questions: list[np.ndarray]  # ids, int32 [n]
    windows: list[list[Window]]

    @property
    def num_rows(self) -> int:
        return sum(map(len, self.windows))

    @property
    def paragraph_of(self) -> np.ndarray:
        """int64 [U]"""
        paragraphs = self.squad.paragraphs
        return np.repeat(np.arange(len(paragraphs)), [len(paragraph.questions) for paragraph in paragraphs])


def write_question_set(
    source: QuestionSet, output: Path, overwrite: bool, done: Callable[[int], object]
) -> None:
    """done(n) is told of each n questions that were written."""
    with SetFile(output, overwrite=overwrite) as file:
        file.set_attribute("task", "question-answering")
        file.set_attribute("no_answer", int(source.squad.may_have_no_answer))
        _add_units(file, source)
        _add_paragraphs(file, source)
        _add_rows(file, source, done)


def _add_units(file: SetFile, source: QuestionSet) -> None:
    questions = [question for paragraph in source.squad.paragraphs for question in paragraph.questions]
    answers = [answer.encode() for question in questions for answer in question.answers]
    first_answer = np.cumsum([0, *(len(question.answers) for question in questions)], dtype=np.int64)
    file.add_ragged("/units/id", [question.identity.encode() for question in questions])
    file.add_ragged("/units/question", [question.text.encode() for question in questions])
    file.add_column("/units/paragraph", "int64", len(questions)).append(source.paragraph_of)
    file.add_column("/units/first_answer", "int64", len(first_answer)).append(first_answer)
    file.add_ragged("/answers/text", answers)


def _add_paragraphs(file: SetFile, source: QuestionSet) -> None:
    file.add_ragged("/paragraphs/text", [paragraph.context.encode() for paragraph in source.squad.paragraphs])
    file.add_ragged("/paragraphs/tokens", [tokens.spans for tokens in source.contexts])


def _pieces(source: QuestionSet) -> Iterator[tuple[range, Rows, np.ndarray, np.ndarray]]:
    """Questions; their rows, with the question (int64) and the window [begin, end) of each row."""
    tokenizer, paragraph_of = source.tokenizer, source.paragraph_of
    for first in range(0, len(source.questions), QUESTIONS_PER_PIECE):
        units = range(first, min(first + QUESTIONS_PER_PIECE, len(source.questions)))
        wanted = [(unit, window) for unit in units for window in source.windows[unit]]
        rows = Rows(len(wanted), source.rule.length, tokenizer.pad)
        for row, (unit, (begin, end)) in enumerate(wanted):
            context = source.contexts[paragraph_of[unit]].ids
            rows.put(row, tokenizer.cls, tokenizer.sep, source.questions[unit], context[begin:end])
        unit_of, windows = zip(*wanted, strict=True)
        yield units, rows, np.array(unit_of, np.int64), np.array(windows, np.int32)


def _add_rows(file: SetFile, source: QuestionSet, done: Callable[[int], object]) -> None:
    num_rows, length = source.num_rows, source.rule.length
    input_ids = file.add_sequence("/inputs/input_ids", "int32", num_rows, length, source.tokenizer.pad)
    mask = file.add_sequence("/inputs/attention_mask", "uint8", num_rows, length, 0)
    token_types = file.add_sequence("/inputs/token_type_ids", "uint8", num_rows, length, 0)
    lengths = file.add_column("/lengths", "int32", num_rows)
    unit = file.add_column("/targets/unit", "int64", num_rows)
    context_begin = file.add_column("/targets/context_begin", "int32", num_rows)
    context_end = file.add_column("/targets/context_end", "int32", num_rows)
    token_begin = file.add_column("/targets/token_begin", "int32", num_rows)
    for units, rows, unit_of, windows in _pieces(source):
        input_ids.append(rows.input_ids)
        mask.append(rows.attention_mask)
        token_types.append(rows.token_type_ids)
        lengths.append(rows.lengths)
        unit.append(unit_of)
        context_begin.append(rows.context_begin)
        context_end.append(rows.context_begin + windows[:, 1] - windows[:, 0])
        token_begin.append(windows[:, 0])
        done(len(units))
