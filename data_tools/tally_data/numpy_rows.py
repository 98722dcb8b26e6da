# SPDX-License-Identifier: Apache-2.0
"""Arrays of .npy and .npz files, read row by row: no more of them is in memory than a piece."""

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from .errors import DataError, reading

_KINDS = "fiubUS"  # numbers and texts
# Of headers, of the archive, of what is packed in it; RuntimeError: encrypted, or packed in a way that is not known.
_FAULTS = (ValueError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)


@dataclass(frozen=True)
class NumpyMember:
    """One array; member: its name inside of the .npz, None of a .npy."""

    path: Path
    member: str | None
    shape: tuple[int, ...]
    dtype: np.dtype
    by_columns: bool  # in Fortran's order

    @classmethod
    def all_of(cls, path: Path) -> dict[str, "NumpyMember"]:
        """By name; that of a .npy is "". Raises DataError."""
        with reading(path):
            if path.suffix.lower() == ".npy":
                return {"": cls._of(path, None)}
            try:
                with zipfile.ZipFile(path) as archive:
                    members = [name for name in archive.namelist() if name.endswith(".npy")]
            except zipfile.BadZipFile as error:
                raise DataError(f"'{path}' is no .npz file: {error}") from error
            return {name.removesuffix(".npy"): cls._of(path, name) for name in members}

    @classmethod
    def _of(cls, path: Path, member: str | None) -> "NumpyMember":
        where = f"'{path}'" + (f", array '{member.removesuffix('.npy')}'," if member else "")
        with ExitStack() as stack:
            try:
                shape, by_columns, dtype = _read_header(_open(stack, path, member))
            except _FAULTS as error:
                raise DataError(f"{where} is no array of numpy: {error}") from error
        if dtype.kind not in _KINDS:
            raise DataError(f"{where} is of {dtype}, expected numbers or texts (dtype=str)")
        if not shape:
            raise DataError(f"{where} is a single value, expected a row for each sample")
        return cls(path, member, shape, dtype, by_columns)

    @property
    def num_rows(self) -> int:
        return self.shape[0]

    @property
    def row_cells(self) -> int:
        return prod(self.shape[1:])

    def pieces(self, rows: int) -> Iterator[np.ndarray]:
        """[n, ...], at most `rows` of them at a time; texts are U."""
        with self._reading(), ExitStack() as stack:
            if self.by_columns:
                yield from self._pieces_by_columns(stack, rows)
                return
            file = _open(stack, self.path, self.member)
            _read_header(file)
            for first in range(0, self.num_rows, rows):
                shape = (min(rows, self.num_rows - first), *self.shape[1:])
                wanted = prod(shape) * self.dtype.itemsize
                content = file.read(wanted)
                if len(content) != wanted:
                    raise DataError(f"'{self.path}' ends in row {first + len(content) * shape[0] // max(wanted, 1)}")
                yield _as_text(np.frombuffer(content, self.dtype).reshape(shape))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with reading(self.path):
            try:
                yield
            except _FAULTS as error:
                raise DataError(f"'{self.path}' cannot be read, it is damaged: {error}") from error

    def _pieces_by_columns(self, stack: ExitStack, rows: int) -> Iterator[np.ndarray]:
        """A row's values lie apart: a .npy is mapped, of a .npz the array is read whole."""
        if self.member is None:
            whole = np.load(self.path, mmap_mode="r", allow_pickle=False)
        else:
            whole = np.lib.format.read_array(_open(stack, self.path, self.member), allow_pickle=False)
        for first in range(0, self.num_rows, rows):
            yield _as_text(np.ascontiguousarray(whole[first : first + rows]))


def _open(stack: ExitStack, path: Path, member: str | None) -> IO[bytes]:
    if member is None:
        return stack.enter_context(path.open("rb"))
    return stack.enter_context(stack.enter_context(zipfile.ZipFile(path)).open(member))


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"version {version} of the format is not read")


def _as_text(values: np.ndarray) -> np.ndarray:
    return np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values
