# SPDX-License-Identifier: Apache-2.0
"""Tables of predictions that other programs wrote, read in pieces; here those of numpy's files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from .errors import DataError, UsageError
from .numpy_rows import NumpyMember

CELLS_PER_PIECE = 1 << 20
LONGEST_CELL = 64  # characters; an array of texts is as wide as the longest, and a number is shorter
INDEX, NAME = "index", "name"


class PredictionTable(Protocol):
    """columns: names of those that hold the values, [] of an array; has_names: whether the file names its columns;
    num_rows: None where only reading tells it.

    place_of(row) names a row as a person finds it.
    """

    columns: list[str]
    has_names: bool
    num_rows: int | None

    def has_key(self, name: str) -> bool:
        """Whether it has a column `index` or `name` beside the values."""
        ...

    def key(self, name: str) -> np.ndarray:
        """[rows] of that column, numbers or texts."""
        ...

    def pieces(self) -> Iterator[np.ndarray]:
        """The values in pieces: [n, ...], numbers, or texts (numpy's U)."""
        ...

    def place_of(self, row: int) -> str:
        """Such as "row 5", or "line 7" of a text."""
        ...


def rows_per_piece(cells: int) -> int:
    """cells: of a row."""
    return max(1, CELLS_PER_PIECE // max(1, cells))


def no_number(path: Path, place: str, name: str, text: str) -> DataError:
    """Of a text that is longer than LONGEST_CELL."""
    return DataError(
        f"'{path}', {place}, column '{name}' holds a text of {len(text)} characters ('{text[:20]}…'), expected a number; "
        "--columns names those that hold the predictions"
    )


def value_columns(path: Path, found: Sequence[str], asked: Sequence[str] | None) -> list[str]:
    """Those of --columns (`asked`), else all that are no key. Raises UsageError or DataError."""
    if asked is None:
        doubtful = [name for name in found if not name or list(found).count(name) > 1]
        if doubtful:
            raise DataError(f"'{path}' has a column '{doubtful[0]}' without a name or twice; name those to take: --columns")
        chosen = [name for name in found if name not in (INDEX, NAME)]
    else:
        missing = [name for name in asked if list(found).count(name) != 1]
        if missing:
            raise UsageError(f"--columns: '{path}' has no column '{missing[0]}', or has it twice; it has {', '.join(found)}")
        chosen = list(asked)
    if not chosen:
        raise DataError(f"'{path}' has no column of predictions")
    return chosen


class NumpyTable:
    """A .npy file, or one of the arrays of a .npz file, whose arrays `index` and `name` are keys."""

    columns: list[str] = []
    has_names = False

    def __init__(self, path: Path, asked: Sequence[str] | None) -> None:
        self._path = path
        self._members = NumpyMember.all_of(path)
        names = value_columns(path, list(self._members), asked) if path.suffix == ".npz" else list(self._members)
        if len(names) != 1:
            raise UsageError(f"'{path}' holds the arrays {', '.join(names)}: name one, --columns NAME")
        self._values = self._members[names[0]]
        self.num_rows = self._values.num_rows

    def has_key(self, name: str) -> bool:
        return name in self._members and self._members[name] is not self._values

    def key(self, name: str) -> np.ndarray:
        return np.concatenate(list(self._members[name].pieces(CELLS_PER_PIECE)))

    def pieces(self) -> Iterator[np.ndarray]:
        return self._values.pieces(rows_per_piece(self._values.row_cells))

    def place_of(self, row: int) -> str:
        return f"row {row}"
