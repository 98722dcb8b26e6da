# SPDX-License-Identifier: Apache-2.0
"""SetFile: a data set file (SCHEMA.md) while it is written, with columns, ragged arrays and their checksums."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import h5py
import numpy as np

from . import schema
from .atomic import atomic_path
from .checksum import BlockChecksums
from .column import Column, RowCheck
from .encoding import ImageEncoding
from .errors import UsageError
from .write_error_capture import WriteErrorCapture
from .fixed_text import fixed_text
from .geometry import Geometry
from .structure import CHECKSUMS, DIGEST_ATTRIBUTE, structure_digest
from .text_column import TextColumn


class SetFile:
    """The file of one data set, complete or absent; use it in a `with` statement.

    At the end of the block it is checked for completeness, closed, flushed to the disk and renamed; on any failure
    nothing is left. `rows_per_block` (1 to 64, less for rows above 1 MiB; default: by the size of a row) or
    `checksums=False` change the checksum tables. Raises UsageError for wrong arguments, DataError for wrong rows, OutputError where it cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        checksums: bool = True,
        rows_per_block: int | None = None,
    ) -> None:
        self.path = Path(path)
        self._overwrite = overwrite
        self._use_checksums = checksums
        self._rows_per_block = rows_per_block
        self._columns: dict[str, Column] = {}
        self._texts: dict[str, TextColumn] = {}
        self._file: h5py.File | None = None
        self._raw: WriteErrorCapture | None = None
        self._cleanup = ExitStack()
        if rows_per_block is not None and not 1 <= rows_per_block <= schema.MAX_ROWS_PER_BLOCK:
            raise UsageError(f"rows_per_block is {rows_per_block}, expected 1 to {schema.MAX_ROWS_PER_BLOCK}")

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            temporary = stack.enter_context(atomic_path(self.path, self._overwrite))
            raw = stack.enter_context(WriteErrorCapture(temporary))
            stack.callback(raw.raise_fault)
            self._file = h5py.File(raw, "w", libver=schema.HDF5_VERSIONS, **schema.HDF5_ALIGNMENT)
            stack.callback(self._file.close)
            self._begin(self._file)
            self._raw = raw
            self._cleanup = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._cleanup:  # closes the file, then renames it or, when anything raised, removes it
            if error is not None:
                raise error
            self._finish()

    def _begin(self, file: h5py.File) -> None:
        """Writes what stands at the root."""
        file.attrs["tally_schema"] = np.int64(schema.SCHEMA_VERSION)

    def _finish(self) -> None:
        """Completes the file; what derived classes ask of it stands before."""
        for path, texts in self._texts.items():
            texts.require_complete()
            self._add_values_and_offsets(path, *texts.arrays())
        for path, column in self._columns.items():
            column.require_complete()
            if column.checksums is not None:
                table = self._opened().create_dataset(f"{CHECKSUMS}{path}", data=column.checksums.table())
                table.attrs["rows_per_block"] = np.int64(column.checksums.rows_per_block)
        if self._use_checksums:
            assert self._raw is not None
            self._raw.raise_fault()  # what was not written cannot be read back
            digest = structure_digest(self._opened())
            self._opened().require_group(CHECKSUMS).attrs[DIGEST_ATTRIBUTE] = fixed_text(digest)

    def _opened(self) -> h5py.File:
        if self._file is None:
            raise UsageError(f"{type(self).__name__} must be used in a 'with' statement")
        return self._file

    def add_column(
        self, path: str, dtype: str, rows: int, shape: tuple[int, ...] = (), check: RowCheck | None = None
    ) -> Column:
        """The dataset `path`: [rows, *shape], to be filled."""
        row_bytes = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
        rows_per_block = self._rows_per_block or schema.default_rows_per_block(row_bytes)
        return self._add(path, dtype, (rows, *shape), check, rows_per_block)

    def set_attribute(self, name: str, value: str | int) -> None:
        """At the root; numbers as int64."""
        self._opened().attrs[name] = fixed_text(value) if isinstance(value, str) else np.int64(value)

    def add_class_names(self, names: Sequence[str]) -> None:
        """/class_names: as plain bytes in the file; none empty, none with NUL."""
        encoded = [name.encode() for name in names]
        fixed = h5py.string_dtype("utf-8", max(map(len, encoded)))
        self._opened().create_dataset("/class_names", data=np.array(encoded, fixed))

    def add_image_column(
        self,
        path: str,
        rows: int,
        height: int,
        width: int,
        encoding: ImageEncoding,
        geometry: Geometry | None = None,
    ) -> Column:
        """uint8 [rows, height, width, channels], with the attributes of an image."""
        column = self.add_column(path, "uint8", rows, (height, width, encoding.num_channels))
        attributes = self._opened()[column.path].attrs
        attributes["layout"] = fixed_text("HWC")
        attributes["channels"] = fixed_text(encoding.channels)
        attributes["scale"] = np.float64(encoding.scale)
        attributes["mean"] = np.array(encoding.mean, np.float64)
        attributes["std"] = np.array(encoding.std, np.float64)
        for name, value in (geometry or Geometry()).attributes().items():
            attributes[name] = value
        return column

    def add_sequence(self, path: str, dtype: str, rows: int, length: int, padding: int) -> Column:
        """[rows, length] that are filled up with `padding`."""
        column = self.add_column(path, dtype, rows, (length,))
        self._opened()[column.path].attrs["padding"] = np.int64(padding)
        return column

    def add_ragged(self, path: str, rows: Sequence[bytes] | Sequence[np.ndarray]) -> None:
        """The ragged array `path`: rows of bytes, or arrays [n, ...] that differ in their first size alone."""
        arrays = [np.frombuffer(row, np.uint8) if isinstance(row, bytes) else row for row in rows]
        offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
        self._add_values_and_offsets(path, np.concatenate(arrays) if arrays else np.empty(0, np.uint8), offsets)

    def add_text_column(self, path: str, rows: int) -> TextColumn:
        """The ragged array `path` of `rows` texts, to be filled; it is written when the file is finished."""
        if path in self._texts:
            raise UsageError(f"{path} was added before")
        self._opened()
        self._texts[path] = TextColumn(path, rows)
        return self._texts[path]

    def _add_values_and_offsets(self, path: str, values: np.ndarray, offsets: np.ndarray) -> None:
        column = self._add(
            f"{path}/values", values.dtype.name, values.shape, None, schema.RAGGED_VALUES_PER_BLOCK
        )
        column.append(values)
        self.add_column(f"{path}/offsets", "int64", len(offsets)).append(offsets)

    def _add(
        self, path: str, dtype: str, shape: tuple[int, ...], check: RowCheck | None, rows_per_block: int
    ) -> Column:
        if path in self._columns:
            raise UsageError(f"{path} was added before")
        if any(size < 1 for size in shape[1:]):
            raise UsageError(f"{path} has rows of shape {list(shape[1:])}, expected sizes above 0")
        stored = np.dtype(dtype).newbyteorder("<")
        row_bytes = stored.itemsize * int(np.prod(shape[1:], dtype=np.int64))
        rows_per_block = min(rows_per_block, max(1, schema.MAX_BLOCK_BYTES // row_bytes))
        dataset = self._opened().create_dataset(path, shape, stored, fill_time="never")
        checksums = BlockChecksums(rows_per_block) if self._use_checksums else None
        assert self._raw is not None
        self._columns[path] = Column(dataset, check, checksums, self._raw.raise_fault)
        return self._columns[path]
