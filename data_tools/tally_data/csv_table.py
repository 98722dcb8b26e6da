# SPDX-License-Identifier: Apache-2.0
"""Predictions in a CSV file, read in pieces."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from .errors import DataError, reading
from .prediction_tables import LONGEST_CELL, no_number, rows_per_piece, value_columns


class CsvTable:
    """has_header: the first line names the columns; without it they are 0, 1, …, which are no names of classes."""

    num_rows: int | None = None

    def __init__(self, path: Path, delimiter: str, has_header: bool, asked: Sequence[str] | None) -> None:
        self._path, self._delimiter, self.has_names = path, delimiter, has_header
        first = next(self._lines(), None)
        if first is None:
            raise DataError(f"'{path}' is empty")
        self._found = [name.strip() for name in first[1]] if has_header else [str(number) for number in range(len(first[1]))]
        self.columns = value_columns(path, self._found, asked)

    def has_key(self, name: str) -> bool:
        return name in self._found and name not in self.columns

    def key(self, name: str) -> np.ndarray:
        return np.array([row[0] for _, row in self._rows([name])], str)

    def pieces(self) -> Iterator[np.ndarray]:
        rows, count = self._short_rows(), rows_per_piece(len(self.columns))
        while piece := list(islice(rows, count)):
            yield np.array(piece, str)

    def place_of(self, row: int) -> str:
        """By its line, which is another where cells hold line feeds, or lines are empty."""
        lines = islice(self._lines(), row + self.has_names, None)
        return f"line {next(lines)[0]}"

    def _short_rows(self) -> Iterator[list[str]]:
        for line, row in self._rows(self.columns):
            for name, cell in zip(self.columns, row, strict=True):
                if len(cell) > LONGEST_CELL:
                    raise no_number(self._path, f"line {line}", name, cell)
            yield row

    def _rows(self, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        """With the numbers of their lines."""
        places = [self._found.index(name) for name in columns]
        for number, cells in islice(self._lines(), int(self.has_names), None):
            if len(cells) != len(self._found):
                raise DataError(f"'{self._path}', line {number}: {len(cells)} cells, expected {len(self._found)}")
            yield number, [cells[place].strip() for place in places]

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """With their numbers; empty ones are left out."""
        with reading(self._path), self._path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=self._delimiter)
            try:
                for cells in reader:
                    if cells:
                        yield reader.line_num, cells
            except (csv.Error, UnicodeDecodeError) as error:
                raise DataError(f"'{self._path}', behind line {reader.line_num}: {error}") from error
