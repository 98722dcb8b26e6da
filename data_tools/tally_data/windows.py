# SPDX-License-Identifier: Apache-2.0
"""Cuts a question and its context into rows of the model's length: [CLS] question [SEP] window [SEP]."""

from dataclasses import dataclass

import numpy as np

from .errors import UsageError

NUM_SPECIAL = 3  # [CLS] and two [SEP]
Window = tuple[int, int]  # first token of the context, and the one behind the last


@dataclass(frozen=True)
class WindowRule:
    """length: of a row; stride: context tokens that a window shares with the one before it."""

    length: int
    stride: int

    def room(self, question_length: int) -> int:
        """For context tokens in a row. Raises UsageError if the windows could not go on."""
        room = self.length - NUM_SPECIAL - question_length
        if room < 1:
            least = NUM_SPECIAL + question_length + 1
            raise UsageError(
                f"--max-length {self.length} leaves no room for the context beside a question of {question_length} "
                f"tokens; give {least + self.stride} or more, or a smaller --max-question-length"
            )
        if self.stride >= room:
            raise UsageError(
                f"--stride {self.stride} is not smaller than the {room} context tokens that fit beside a question of "
                f"{question_length} tokens; give less, or a larger --max-length"
            )
        return room

    def windows(self, question_length: int, context_length: int) -> list[Window]:
        """As Hugging Face's tokenizers cut them: all full but the last."""
        room = self.room(question_length)
        step = room - self.stride
        overhang = max(0, context_length - room)
        begins = range(0, overhang + step, step)
        return [(begin, min(begin + room, context_length)) for begin in begins]


class Rows:
    """A table of rows, filled one by one. Padded with `pad`; the other inputs with 0."""

    def __init__(self, num_rows: int, length: int, pad: int) -> None:
        self.input_ids = np.full((num_rows, length), pad, np.int32)
        self.attention_mask = np.zeros((num_rows, length), np.uint8)
        self.token_type_ids = np.zeros((num_rows, length), np.uint8)
        self.lengths = np.zeros(num_rows, np.int32)
        self.context_begin = np.zeros(num_rows, np.int32)

    def put(self, row: int, cls: int, sep: int, question: np.ndarray, window: np.ndarray) -> None:
        first = len(question) + 2
        last = first + len(window)
        ids = self.input_ids[row]
        ids[0], ids[first - 1], ids[last] = cls, sep, sep
        ids[1 : first - 1] = question
        ids[first:last] = window
        self.attention_mask[row, : last + 1] = 1
        self.token_type_ids[row, first : last + 1] = 1
        self.lengths[row] = last + 1
        self.context_begin[row] = first
