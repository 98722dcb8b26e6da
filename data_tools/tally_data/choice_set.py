# SPDX-License-Identifier: Apache-2.0
"""Writes questions with choices, whose rows of tokens are made, as a data set of the task multiple-choice."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .choices import Question
from .progress import progress_bar
from .set_file import SetFile
from .token_rows import IGNORED, TokenRow, TokenRowWriter

QUESTIONS_PER_PIECE = 512


def write_choice_set(
    questions: Sequence[Question], rows: Sequence[Sequence[TokenRow]], num_tokens: int, output: Path, overwrite: bool
) -> int:
    """rows: of each question; num_tokens: of the vocabulary. Returns how many tokens the longest row has."""
    longest = max(len(row.inputs) for of_question in rows for row in of_question)
    with (
        SetFile(output, overwrite=overwrite) as file,
        progress_bar(len(questions), "question", output.name) as bar,
    ):
        file.set_attribute("task", "multiple-choice")
        file.set_attribute("num_classes", num_tokens)
        file.set_attribute("ignore_index", IGNORED)
        _write_units(file, questions)
        out = TokenRowWriter(file, sum(map(len, rows)), longest)
        for first in range(0, len(rows), QUESTIONS_PER_PIECE):
            piece = rows[first : first + QUESTIONS_PER_PIECE]
            units = [unit for unit, found in enumerate(piece, start=first) for _ in found]
            out.append([row for found in piece for row in found], units)
            bar.update(len(piece))
    return longest


def _write_units(file: SetFile, questions: Sequence[Question]) -> None:
    first_choice = np.cumsum([0, *(len(question.choices) for question in questions)], dtype=np.int64)
    gold = np.array([question.gold for question in questions], np.int64)
    file.add_ragged("/units/id", [question.identity.encode() for question in questions])
    file.add_ragged("/units/question", [question.text.encode() for question in questions])
    file.add_column("/units/gold", "int64", len(gold)).append(gold)
    file.add_column("/units/first_choice", "int64", len(first_choice)).append(first_choice)
    file.add_ragged("/choices/text", [choice.encode() for question in questions for choice in question.choices])
    choice = np.concatenate([np.arange(len(question.choices), dtype=np.int32) for question in questions])
    file.add_column("/targets/choice", "int32", len(choice)).append(choice)
