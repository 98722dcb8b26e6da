# SPDX-License-Identifier: Apache-2.0
"""Rows of tokens with the tokens that a language model should give: what its two tasks share."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .sequence_columns import SequenceColumns, filled_up
from .set_file import SetFile

IGNORED = -100  # a place that is not scored
PADDING = 0  # of input_ids; attention_mask is 0 there


class TokenRow(NamedTuple):
    """int32 [n] each; labels: for each place the token that should follow, or IGNORED."""

    inputs: np.ndarray
    labels: np.ndarray


class TokenRowWriter:
    """Columns of rows that have at most `length` tokens, to be filled."""

    def __init__(self, file: SetFile, num_rows: int, length: int) -> None:
        self._length = length
        self._inputs = SequenceColumns(file, num_rows, length, {"input_ids": PADDING})
        self._labels = file.add_column("/targets/label", "int32", num_rows, (length,))
        self._unit = file.add_column("/targets/unit", "int64", num_rows)

    def append(self, rows: Sequence[TokenRow], units: Sequence[int]) -> None:
        """units: the unit of each row."""
        self._inputs.append([{"input_ids": row.inputs} for row in rows])
        self._labels.append(filled_up([row.labels for row in rows], self._length, IGNORED))
        self._unit.append(np.array(units, np.int64))
