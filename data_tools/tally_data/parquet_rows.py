# SPDX-License-Identifier: Apache-2.0
"""Rows of parquet files, one group of rows in memory at a time."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .errors import DataError, reading


class ParquetRows:
    """The rows of `files`, one after the other; features: as the files say, or as `datasets` makes them of their types."""

    def __init__(self, files: list[Path], datasets: Any) -> None:
        import pyarrow.parquet

        self._files = [_open(file, pyarrow) for file in files]
        schema = self._files[0].schema_arrow
        for file, opened in zip(files, self._files, strict=True):
            if not opened.schema_arrow.equals(schema):
                raise DataError(f"'{file}' has other columns than '{files[0]}'")
        self.features: Mapping[str, Any] = datasets.Features.from_arrow_schema(schema)
        self._groups = [(file, group) for file in self._files for group in range(file.num_row_groups)]
        self._begins = [0]
        for file, group in self._groups:
            self._begins.append(self._begins[-1] + file.metadata.row_group(group).num_rows)
        self._loaded: tuple[int, list[str], Any] | None = None

    def __len__(self) -> int:
        return self._begins[-1]

    def rows(self, first: int, last: int, columns: list[str]) -> Iterator[dict[str, Any]]:
        while first < last:
            number = bisect_right(self._begins, first) - 1
            begin, end = self._begins[number], min(last, self._begins[number + 1])
            yield from self._values(number, columns, first - begin, end - first)
            first = end

    def _values(self, number: int, columns: list[str], begin: int, count: int) -> list[dict[str, Any]]:
        try:
            return self._group(number, columns).slice(begin, count).to_pylist()
        except ValueError as error:  # texts that are not UTF-8, times that Python does not have
            first = self._begins[number] + begin
            raise DataError(f"the items {first} to {first + count - 1} cannot be read: {error}") from error

    def _group(self, number: int, columns: list[str]) -> Any:
        if self._loaded is None or self._loaded[:2] != (number, columns):
            file, group = self._groups[number]
            try:
                self._loaded = (number, columns, file.read_row_group(group, columns=columns))
            except Exception as error:  # Arrow has an exception of its own for each fault
                first, last = self._begins[number], self._begins[number + 1] - 1
                raise DataError(f"the items {first} to {last} cannot be read: {error}") from error
        return self._loaded[2]


def _open(file: Path, pyarrow: Any) -> Any:
    try:
        with reading(file):
            return pyarrow.parquet.ParquetFile(file, memory_map=True)
    except pyarrow.ArrowException as error:
        raise DataError(f"'{file}' is no parquet file, or damaged: {error}") from error
