"""DataSetWriter: streams a Tally data set file (SCHEMA.md) to disk."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np

from . import schema
from .atomic import atomic_path
from .checksum import BlockChecksums
from .column import Column, RowCheck
from .encoding import ImageEncoding
from .errors import DataError, UsageError
from .fault_keeping_file import FaultKeepingFile


class DataSetWriter:
    """Writes one data set of `num_samples` samples; use it in a `with` statement.

    Columns are declared with add_*, then filled with `append` in pieces of any size, or at once by `data`. At the end
    of the block the file is checked for completeness, closed, flushed to the disk and renamed; on any failure nothing
    is left. `rows_per_block` (1 to 64; default: by the size of a row) or `checksums=False` change the checksum tables.
    Raises UsageError for wrong arguments, DataError for wrong rows, OutputError where the file cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        task: str,
        num_classes: int,
        num_samples: int,
        class_names: Sequence[str] | None = None,
        ignore_index: int | None = None,
        overwrite: bool = False,
        checksums: bool = True,
        rows_per_block: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.num_samples = num_samples
        self._task = schema.find_task(task)
        self._num_classes = schema.check_num_classes(num_classes, self._task)
        self._class_names = (
            None
            if class_names is None
            else schema.check_class_names(list(class_names), num_classes, self._task)
        )
        self._ignore_index = schema.check_ignore_index(ignore_index, self._task)
        self._overwrite = overwrite
        self._use_checksums = checksums
        self._rows_per_block = rows_per_block
        self._columns: dict[str, Column] = {}
        self._file: h5py.File | None = None
        self._raw: FaultKeepingFile | None = None
        self._cleanup = ExitStack()
        if num_samples < 1:
            raise DataError(f"data set '{path}' would have {num_samples} samples, expected at least 1")
        if rows_per_block is not None and not 1 <= rows_per_block <= schema.MAX_ROWS_PER_BLOCK:
            raise UsageError(f"rows_per_block is {rows_per_block}, expected 1 to {schema.MAX_ROWS_PER_BLOCK}")

    def __enter__(self) -> "DataSetWriter":
        with ExitStack() as stack:
            temporary = stack.enter_context(atomic_path(self.path, self._overwrite))
            raw = stack.enter_context(FaultKeepingFile(temporary))
            stack.callback(raw.raise_fault)
            self._file = h5py.File(raw, "w", libver=schema.HDF5_VERSIONS, **schema.HDF5_ALIGNMENT)
            stack.callback(self._file.close)
            self._write_root(self._file)
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

    def add_image(
        self, name: str = "image", *, height: int, width: int, encoding: ImageEncoding, data: Any = None
    ) -> Column:
        """/inputs/<name>: uint8 [N, height, width, channels], with the attributes of an image."""
        column = self._add(
            f"/inputs/{schema.check_name(name)}", "uint8", (height, width, encoding.num_channels)
        )
        attributes = self._opened()[column.path].attrs
        attributes["layout"] = "HWC"
        attributes["channels"] = encoding.channels
        attributes["scale"] = np.float64(encoding.scale)
        attributes["mean"] = np.array(encoding.mean, np.float64)
        attributes["std"] = np.array(encoding.std, np.float64)
        return self._filled(column, data)

    def add_input(self, name: str, *, dtype: str, shape: Sequence[int] = (), data: Any = None) -> Column:
        """/inputs/<name>: [N, *shape] of one of schema.INPUT_DTYPES, given to the model as it is."""
        if dtype not in schema.INPUT_DTYPES:
            raise UsageError(
                f"input '{name}' has dtype {dtype}, expected one of {', '.join(schema.INPUT_DTYPES)}"
            )
        if name == "image" and dtype == "uint8":
            raise UsageError("input 'image' of dtype uint8 is an image: use add_image")
        return self._filled(self._add(f"/inputs/{schema.check_name(name)}", dtype, tuple(shape)), data)

    def add_target(self, name: str = "label", data: Any = None) -> Column:
        """/targets/label, by task, with C = num_classes:

        binary, multiclass: int64 [N], 0..C-1 or ignore_index
        multilabel: uint8 [N, C], each 0, 1 or ignore_index
        regression: float32 [N, C], or [N] where C is 1; finite
        """
        task = self._task
        if name != "label":
            raise UsageError(f"the task {task.name} has the target 'label', not '{name}'")
        check = partial(
            schema.check_labels, task=task, num_classes=self._num_classes, ignore_index=self._ignore_index
        )
        shape = task.label_shape(self._num_classes)
        return self._filled(self._add("/targets/label", task.label_dtype, shape, check), data)

    def add_group(self, name: str, data: Any = None) -> Column:
        """/groups/<name>: int32 [N], the subgroup of each sample."""
        return self._filled(self._add(f"/groups/{schema.check_name(name)}", "int32", ()), data)

    def _opened(self) -> h5py.File:
        if self._file is None:
            raise UsageError("DataSetWriter must be used in a 'with' statement")
        return self._file

    def _add(self, path: str, dtype: str, shape: tuple[int, ...], check: RowCheck | None = None) -> Column:
        if path in self._columns:
            raise UsageError(f"{path} was added before")
        if any(size < 1 for size in shape):
            raise UsageError(f"{path} has rows of shape {list(shape)}, expected sizes above 0")
        stored = np.dtype(dtype).newbyteorder("<")
        dataset = self._opened().create_dataset(path, (self.num_samples, *shape), stored, fill_time="never")
        row_bytes = stored.itemsize * int(np.prod(shape, dtype=np.int64))
        rows_per_block = self._rows_per_block or schema.default_rows_per_block(row_bytes)
        checksums = BlockChecksums(rows_per_block) if self._use_checksums else None
        assert self._raw is not None
        self._columns[path] = Column(dataset, check, checksums, self._raw.raise_fault)
        return self._columns[path]

    @staticmethod
    def _filled(column: Column, data: Any) -> Column:
        if data is not None:
            column.append(data)
        return column

    def _write_root(self, file: h5py.File) -> None:
        file.attrs["tally_schema"] = np.int64(schema.SCHEMA_VERSION)
        file.attrs["task"] = self._task.name
        file.attrs["num_classes"] = np.int64(self._num_classes)
        if self._ignore_index is not None:
            file.attrs["ignore_index"] = np.int64(self._ignore_index)
        if self._class_names is not None:
            encoded = [name.encode() for name in self._class_names]
            fixed = h5py.string_dtype("utf-8", max(map(len, encoded)))
            file.create_dataset("/class_names", data=np.array(encoded, fixed))

    def _finish(self) -> None:
        if not any(path.startswith("/inputs/") for path in self._columns):
            raise DataError(f"data set '{self.path}' has no inputs; add at least one")
        if "/targets/label" not in self._columns:
            raise DataError(f"data set '{self.path}' has no /targets/label")
        for path, column in self._columns.items():
            column.require_complete()
            if column.checksums is not None:
                table = self._opened().create_dataset(f"/checksums{path}", data=column.checksums.table())
                table.attrs["rows_per_block"] = np.int64(column.checksums.rows_per_block)
