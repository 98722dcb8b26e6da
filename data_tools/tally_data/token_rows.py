# SPDX-License-Identifier: Apache-2.0
"""Rows of tokens with the tokens that a language model should give: what its two tasks share."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
        self._input_ids = file.add_sequence("/inputs/input_ids", "int32", num_rows, length, PADDING)
        self._mask = file.add_sequence("/inputs/attention_mask", "uint8", num_rows, length, 0)
        self._lengths = file.add_column("/lengths", "int32", num_rows)
        self._labels = file.add_column("/targets/label", "int32", num_rows, (length,))
        self._unit = file.add_column("/targets/unit", "int64", num_rows)

    def append(self, rows: Sequence[TokenRow], units: Sequence[int]) -> None:
        """units: the unit of each row."""
        lengths = np.array([len(row.inputs) for row in rows], np.int32)
        mask = np.arange(self._length) < lengths[:, None]
        input_ids = np.full(mask.shape, PADDING, np.int32)
        labels = np.full(mask.shape, IGNORED, np.int32)
        input_ids[mask] = np.concatenate([row.inputs for row in rows])
        labels[mask] = np.concatenate([row.labels for row in rows])
        self._input_ids.append(input_ids)
        self._mask.append(mask.astype(np.uint8))
        self._lengths.append(lengths)
        self._labels.append(labels)
        self._unit.append(np.array(units, np.int64))
