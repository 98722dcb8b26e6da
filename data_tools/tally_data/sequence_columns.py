# SPDX-License-Identifier: Apache-2.0
"""Inputs that are sequences of tokens, as a data set file has them (SCHEMA.md, Sequences)."""

from collections.abc import Mapping, Sequence

import numpy as np

from .set_file import SetFile

DTYPES = {"input_ids": "int32", "token_type_ids": "uint8"}


class SequenceColumns:
    """The columns of rows that have at most `length` tokens, with the mask that tells tokens from padding.

    paddings: for input_ids, and for token_type_ids where there are any, the value that rows are filled up with.
    """

    def __init__(self, file: SetFile, num_rows: int, length: int, paddings: Mapping[str, int]) -> None:
        self._length = length
        self._paddings = paddings
        self._inputs = {}
        for name, padding in paddings.items():
            self._inputs[name] = file.add_sequence(f"/inputs/{name}", DTYPES[name], num_rows, length, padding)
            if name == "input_ids":
                self._mask = file.add_sequence("/inputs/attention_mask", "uint8", num_rows, length, 0)
        self._lengths = file.add_column("/lengths", "int32", num_rows)

    def append(self, rows: Sequence[Mapping[str, np.ndarray]]) -> None:
        """rows: of each input an array [n]."""
        lengths = np.array([len(row["input_ids"]) for row in rows], np.int32)
        for name, padding in self._paddings.items():
            self._inputs[name].append(filled_up([row[name] for row in rows], self._length, padding))
        self._mask.append((np.arange(self._length) < lengths[:, None]).astype(np.uint8))
        self._lengths.append(lengths)


def filled_up(rows: Sequence[np.ndarray], length: int, padding: int) -> np.ndarray:
    """[n, length] of the rows' type, from rows that have at most `length` values."""
    filled = np.full((len(rows), length), padding, rows[0].dtype)
    filled[np.arange(length) < np.array([len(row) for row in rows])[:, None]] = np.concatenate(rows)
    return filled
