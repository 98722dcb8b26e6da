# SPDX-License-Identifier: Apache-2.0
"""DataSetWriter: streams a Tally data set file (SCHEMA.md) to disk."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from . import schema
from .column import Column, RowCheck, as_rows
from .encoding import ImageEncoding
from .errors import DataError, UsageError
from .geometry import Geometry
from .set_file import SetFile
from .text_column import NAMES, TextColumn


class DataSetWriter(SetFile):
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
        num_classes: int | None = None,
        num_samples: int,
        class_names: Sequence[str] | None = None,
        ignore_index: int | None = None,
        overwrite: bool = False,
        checksums: bool = True,
        rows_per_block: int | None = None,
    ) -> None:
        super().__init__(path, overwrite=overwrite, checksums=checksums, rows_per_block=rows_per_block)
        self.num_samples = num_samples
        self._task = schema.find_task(task)
        self._num_classes = schema.check_num_classes(num_classes, self._task)
        self._class_names = (
            None
            if class_names is None
            else schema.check_class_names(list(class_names), num_classes, self._task)
        )
        self._ignore_index = schema.check_ignore_index(ignore_index, self._task, num_classes)
        if num_samples < 1:
            raise DataError(f"data set '{path}' would have {num_samples} samples, expected at least 1")

    def add_image(
        self,
        name: str = "image",
        *,
        height: int,
        width: int,
        encoding: ImageEncoding,
        geometry: Geometry | None = None,
        data: Any = None,
    ) -> Column:
        """/inputs/<name>: uint8 [N, height, width, channels], with the attributes of an image."""
        path = f"/inputs/{schema.check_name(name)}"
        column = self.add_image_column(path, self.num_samples, height, width, encoding, geometry)
        return self._filled(column, data)

    def add_input(self, name: str, *, dtype: str, shape: Sequence[int] = (), data: Any = None) -> Column:
        """/inputs/<name>: [N, *shape] of one of schema.INPUT_DTYPES, given to the model as it is."""
        if dtype not in schema.INPUT_DTYPES:
            raise UsageError(
                f"input '{name}' has dtype {dtype}, expected one of {', '.join(schema.INPUT_DTYPES)}"
            )
        if name == "image" and dtype == "uint8":
            raise UsageError("input 'image' of dtype uint8 is an image: use add_image")
        return self._filled(self._add_samples(f"/inputs/{schema.check_name(name)}", dtype, tuple(shape)), data)

    def add_target(self, name: str = "label", data: Any = None) -> Column:
        """/targets/label, by task, with C = num_classes:

        binary, multiclass: int64 [N], 0..C-1 or ignore_index
        multilabel: uint8 [N, C], each 0, 1 or ignore_index
        regression: float32 [N, C], or [N] where C is 1; finite; of each pixel: see add_map
        segmentation: see add_mask
        token-classification: see add_token_labels
        predict: has none
        """
        task = self._task
        if task.label_dtype is None:
            raise UsageError(f"the task {task.name} has no targets")
        if name != "label":
            raise UsageError(f"the task {task.name} has the target 'label', not '{name}'")
        if task.name == "segmentation":
            raise UsageError("the labels of the task segmentation are masks: use add_mask")
        if task.is_sequence:
            raise UsageError(f"the labels of the task {task.name} are sequences: use add_token_labels")
        check = self._label_check()
        shape = task.label_shape(self._num_classes)
        return self._filled(self._add_samples("/targets/label", task.label_dtype, shape, check), data)

    def add_label_sets(self, sets: Sequence[Any]) -> None:
        """/targets/labels, of a multiclass set whose samples may have several right classes, or none: int64 [n] each.

        /targets/label is the first of each, or ignore_index for a sample without any, which is not scored.
        """
        if self._task.name != "multiclass":
            raise UsageError(f"the task {self._task.name} has no sets of labels: use add_target")
        if len(sets) != self.num_samples:
            raise DataError(f"/targets/labels: {len(sets)} rows were given, expected {self.num_samples}")
        rows = [as_rows(row, np.dtype(np.int64), f"/targets/labels[{index}]") for index, row in enumerate(sets)]
        schema.check_label_sets(rows, self._num_classes, self._ignore_index)
        self.add_ragged("/targets/labels", rows)
        self.add_target(data=[row[0] if len(row) else self._ignore_index for row in rows])

    def add_mask(self, *, height: int, width: int, dtype: str = "uint8", data: Any = None) -> Column:
        """/targets/label of a segmentation: [N, height, width], of each pixel 0..C-1 or ignore_index.

        The type is one of schema.MASK_DTYPES.
        """
        if self._task.name != "segmentation":
            raise UsageError(f"the task {self._task.name} has no masks: use add_target")
        if dtype not in schema.MASK_DTYPES:
            raise UsageError(f"masks have dtype {dtype}, expected one of {', '.join(schema.MASK_DTYPES)}")
        return self._filled(self._add_samples("/targets/label", dtype, (height, width), self._label_check()), data)

    def add_map(self, *, height: int, width: int, data: Any = None) -> Column:
        """/targets/label of a regression whose values are pixels: float32 [N, height, width], NaN: not scored.

        num_classes is 1.
        """
        if self._task.name != "regression":
            raise UsageError(f"the task {self._task.name} has no maps: use add_target")
        if self._num_classes != 1:
            raise UsageError(f"num_classes is {self._num_classes}, expected 1 for a regression's maps")
        return self._filled(
            self._add_samples("/targets/label", "float32", (height, width), schema.check_map), data
        )

    def add_token_labels(self, *, length: int, data: Any = None) -> Column:
        """/targets/label of a token classification: int64 [N, length], of each place 0..C-1 or ignore_index.

        length: places of the inputs that have `padding`; behind the end of a row stands ignore_index.
        """
        if not self._task.is_sequence:
            raise UsageError(f"the task {self._task.name} has no labels of tokens: use add_target")
        return self._filled(self._add_samples("/targets/label", "int64", (length,), self._label_check()), data)

    def _label_check(self) -> RowCheck:
        return partial(
            schema.check_labels, task=self._task, num_classes=self._num_classes, ignore_index=self._ignore_index
        )

    def add_group(self, name: str, data: Any = None) -> Column:
        """/groups/<name>: int32 [N], the subgroup of each sample."""
        return self._filled(self._add_samples(f"/groups/{schema.check_name(name)}", "int32", ()), data)

    def add_names(self, names: Iterable[str] | None = None) -> TextColumn:
        """/samples/name: what each sample is called, such as its file. Names may be equal; see TextColumn for the rest."""
        column = self.add_text_column(NAMES, self.num_samples)
        if names is not None:
            column.append(names)
        return column

    def _add_samples(
        self, path: str, dtype: str, shape: tuple[int, ...], check: RowCheck | None = None
    ) -> Column:
        return self.add_column(path, dtype, self.num_samples, shape, check)

    @staticmethod
    def _filled(column: Column, data: Any) -> Column:
        if data is not None:
            column.append(data)
        return column

    def _begin(self, file: h5py.File) -> None:
        super()._begin(file)
        self.set_attribute("task", self._task.name)
        if self._num_classes is not None:
            self.set_attribute("num_classes", self._num_classes)
        if self._ignore_index is not None:
            self.set_attribute("ignore_index", self._ignore_index)
        if self._class_names is not None:
            self.add_class_names(self._class_names)

    def _finish(self) -> None:
        if not any(path.startswith("/inputs/") for path in self._columns):
            raise DataError(f"data set '{self.path}' has no inputs; add at least one")
        if self._task.label_dtype is not None and "/targets/label" not in self._columns:
            raise DataError(f"data set '{self.path}' has no /targets/label")
        is_padded = any("padding" in self._opened()[path].attrs for path in self._columns)
        if self._task.is_sequence and is_padded and "/lengths" not in self._columns:
            raise DataError(f"data set '{self.path}' has inputs with padding, but no /lengths")
        super()._finish()
