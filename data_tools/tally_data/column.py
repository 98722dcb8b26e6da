# SPDX-License-Identifier: Apache-2.0
"""One dataset that is filled row by row."""

from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

from .checksum import BlockChecksums
from .errors import DataError

RowCheck = Callable[[np.ndarray, int], None]  # rows, index of the first of them


def as_rows(rows: Any, dtype: np.dtype, path: str) -> np.ndarray:
    """`rows` as a C-contiguous array of `dtype`; values are never rounded, wrapped or cut."""
    array = np.asarray(rows)
    if array.dtype != dtype:
        if dtype.kind in "iu" and array.dtype.kind in "iu" and array.size:
            low, high = int(array.min()), int(array.max())
            limits = np.iinfo(dtype)
            if low < limits.min or high > limits.max:
                raise DataError(f"{path}: values {low}..{high} do not fit {dtype.name}")
        elif array.size and not np.can_cast(array.dtype, dtype, "safe"):
            raise DataError(f"{path}: rows are {array.dtype.name}, expected {dtype.name}; convert them first")
    return np.ascontiguousarray(array, dtype)


class Column:
    """A contiguous dataset [num_samples, ...] of the data set file. Made by DataSetWriter."""

    def __init__(
        self,
        dataset: h5py.Dataset,
        check: RowCheck | None,
        checksums: BlockChecksums | None,
        raise_fault: Callable[[], None],
    ) -> None:
        self.path: str = dataset.name
        self.num_written = 0
        self.checksums = checksums
        self._dataset = dataset
        self._check = check
        self._raise_fault = raise_fault

    def append(self, rows: Any) -> None:
        """Writes rows [n, ...] after those written before."""
        array = self._checked(rows)
        last = self.num_written + len(array)
        if self._check is not None:
            self._check(array, self.num_written)
        if len(array):
            self._dataset[self.num_written : last] = array
            self._raise_fault()
            if self.checksums is not None:
                self.checksums.update(array)
        self.num_written = last

    def place(self, rows: Any, places: np.ndarray) -> None:
        """Writes row i to places[i], int64 [n]; each place of the column is written once. Not with checksums."""
        assert self.checksums is None and self._check is None
        array = self._checked(rows)
        order = np.argsort(places, kind="stable")
        ascending = places[order]
        begins = np.flatnonzero(np.diff(ascending, prepend=-2) != 1)
        for begin, end in zip(begins, [*begins[1:], len(ascending)], strict=True):  # places that follow one another
            first = int(ascending[begin])
            self._dataset[first : first + int(end - begin)] = array[order[begin:end]]
        self._raise_fault()
        self.num_written += len(array)

    def _checked(self, rows: Any) -> np.ndarray:
        array = as_rows(rows, self._dataset.dtype, self.path)
        expected = self._dataset.shape[1:]
        if array.ndim == 0 or array.shape[1:] != expected:
            wanted = f"[n{''.join(f', {size}' for size in expected)}]"
            raise DataError(f"{self.path}: rows have the shape {list(array.shape)}, expected {wanted}")
        last = self.num_written + len(array)
        if last > len(self._dataset):
            raise DataError(
                f"{self.path}: row {last - 1} was written, the set was declared with {len(self._dataset)} rows"
            )
        return array

    def require_complete(self) -> None:
        if self.num_written != len(self._dataset):
            raise DataError(
                f"{self.path}: {self.num_written} rows were written, expected {len(self._dataset)}"
            )
