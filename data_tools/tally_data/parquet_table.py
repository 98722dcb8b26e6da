# SPDX-License-Identifier: Apache-2.0
"""Predictions in a parquet file, read in pieces by pyarrow, which is no requirement of the tools."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError, EnvironmentFault, UsageError, reading
from .prediction_tables import LONGEST_CELL, no_number, rows_per_piece, value_columns

MOST_ROWS = 65536  # of a piece, for a row's list may hold many values


class ParquetTable:
    """The values are columns of numbers, one column of lists of numbers, or one of texts."""

    has_names = True

    def __init__(self, path: Path, asked: Sequence[str] | None) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise EnvironmentFault("pyarrow, which reads parquet files, is not installed; install it, or write CSV") from error
        self._path = path
        with reading(path):
            try:
                self._file = pyarrow.parquet.ParquetFile(path)
            except pyarrow.ArrowException as error:
                raise DataError(f"'{path}' is no parquet file: {error}") from error
        self._found = list(self._file.schema_arrow.names)
        self.columns = value_columns(path, self._found, asked)
        self._check_lists()
        self.num_rows: int | None = self._file.metadata.num_rows

    def has_key(self, name: str) -> bool:
        return name in self._found and name not in self.columns

    def key(self, name: str) -> np.ndarray:
        found = [self._values(batch.column(0), name) for batch in self._batches(MOST_ROWS, [name])]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def pieces(self) -> Iterator[np.ndarray]:
        rows, first = min(MOST_ROWS, rows_per_piece(len(self.columns))), 0
        for batch in self._batches(rows, self.columns):
            for name in self.columns:
                self._check_lengths(batch.column(name), name, first)
            first += len(batch)
            found = [self._values(batch.column(name), name) for name in self.columns]
            # A lone column of lists is a row's values already.
            yield found[0] if len(found) == 1 and found[0].ndim > 1 else np.stack(found, axis=1)

    def place_of(self, row: int) -> str:
        return f"row {row}"

    def _batches(self, rows: int, columns: list[str]) -> Iterator[Any]:
        try:
            yield from self._file.iter_batches(rows, columns=columns)
        except Exception as error:  # Arrow has an exception of its own for each fault
            raise DataError(f"'{self._path}' cannot be read, it is damaged: {error}") from error

    def _check_lists(self) -> None:
        """A row of lists is all values already: another column beside it must be something else."""
        lists = [name for name in self.columns if _is_list(self._file.schema_arrow.field(name).type)]
        if lists and len(self.columns) > 1:
            others = ", ".join(f"'{name}'" for name in self.columns if name != lists[0])
            raise UsageError(
                f"'{self._path}' has lists of values in the column '{lists[0]}', and the columns {others} beside it: name the "
                f"one that holds the predictions, such as --columns {lists[0]}"
            )

    def _check_lengths(self, column: Any, name: str, first: int) -> None:
        """Of texts, also those in lists. first: the number of the first row."""
        from pyarrow import compute, types

        rows = np.arange(first, first + len(column))
        while _is_list(column.type):
            rows = rows[compute.list_parent_indices(column).to_numpy()]
            column = column.flatten()
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if types.is_string(column.type) or types.is_large_string(column.type):
            too_long = np.flatnonzero(compute.utf8_length(column).fill_null(0).to_numpy() > LONGEST_CELL)
            if len(too_long):
                at = int(too_long[0])
                raise no_number(self._path, f"row {rows[at]}", name, str(column[at]))

    def _values(self, column: Any, name: str) -> np.ndarray:
        """[n], or [n, k] of lists of k."""
        from pyarrow import types

        if column.null_count:
            raise DataError(f"'{self._path}', column '{name}': {column.null_count} values are missing (null)")
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if types.is_string(column.type) or types.is_large_string(column.type):
            try:
                return np.array(column.to_pylist(), str)
            except UnicodeDecodeError as error:
                raise DataError(f"'{self._path}', column '{name}' is no UTF-8 text: {error}") from error
        if _is_list(column.type):
            sizes = set(column.value_lengths().to_pylist())
            if len(sizes) != 1:
                raise DataError(
                    f"'{self._path}', column '{name}' has lists of {min(sizes)} to {max(sizes)} values, expected as many each"
                )
            return self._values(column.flatten(), name).reshape(len(column), -1)
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind not in "fiub":
            raise DataError(f"'{self._path}', column '{name}' is of {column.type}, expected numbers or texts")
        return values


def _is_list(type_: Any) -> bool:
    from pyarrow import types

    return any(is_it(type_) for is_it in (types.is_list, types.is_large_list, types.is_fixed_size_list))
