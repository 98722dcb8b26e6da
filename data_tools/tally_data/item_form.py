# SPDX-License-Identifier: Apache-2.0
"""The form of a data set that is made of samples: its columns, found from the first sample, and rows of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from . import schema
from .column import Column
from .decode import DecodeRule
from .encoding import ImageEncoding
from .errors import DataError, UsageError
from .item_columns import ImageColumn, TargetColumn, TensorColumn
from .item_values import is_image
from .items import Item
from .text_column import TextColumn, printable
from .writer import DataSetWriter


class Rows(NamedTuple):
    """columns: an array [n, ...] for each column of the form, in order; names: of the samples, empty for one without."""

    columns: list[np.ndarray]
    names: list[str]

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True)
class FormOptions:
    """What the command line says of the form; None where it says nothing."""

    task: str | None
    input_name: str | None
    num_classes: int | None
    class_names: Sequence[str] | None
    ignore_index: int | None
    rounds: bool
    encoding: ImageEncoding
    rule: DecodeRule


@dataclass(frozen=True)
class SetForm:
    """keys: by which items name the inputs; num_classes: None for no classes, or until the largest label is known.

    is_named: whether the items have names of their own.
    """

    task: str
    keys: tuple[str, ...]
    inputs: tuple[ImageColumn | TensorColumn, ...]
    target: TargetColumn | None
    num_classes: int | None
    class_names: tuple[str, ...] | None
    ignore_index: int | None
    is_named: bool = False

    @property
    def columns(self) -> tuple[ImageColumn | TensorColumn | TargetColumn, ...]:
        return self.inputs if self.target is None else (*self.inputs, self.target)

    @property
    def counts_classes(self) -> bool:
        """Whether the largest label says how many classes there are."""
        return self.num_classes is None and self.target is not None

    @property
    def most_classes(self) -> int | None:
        """That there might be, whatever the options say."""
        task = schema.find_task(self.task)
        return task.num_classes[1] if task.num_classes and task.label_dtype == "int64" else self.num_classes

    @property
    def row_bytes(self) -> int:
        return sum(np.dtype(one.dtype).itemsize * int(np.prod(one.shape, dtype=np.int64)) for one in self.columns)

    def encode(self, items: Iterable[Item], first: int) -> Rows:
        """Of the items from number `first` on. Raises DataError for one that has another form."""
        rows: list[list[np.ndarray]] = [[] for _ in self.columns]
        names = []
        for index, item in enumerate(items, first):
            self._append(item, item.place(index), rows)
            names.append(printable(item.name or ""))
        columns = [
            np.stack(of_column) if of_column else np.empty((0, *column.shape), column.dtype)
            for column, of_column in zip(self.columns, rows, strict=True)
        ]
        if self.target is not None:
            self._check_labels(columns[-1], first)
        return Rows(columns, names)

    def _append(self, item: Item, place: str, rows: list[list[np.ndarray]]) -> None:
        if item.inputs.keys() != set(self.keys):
            found, expected = (", ".join(map(repr, sorted(keys))) for keys in (item.inputs, self.keys))
            raise DataError(f"{place} has the inputs {found}, the first item has {expected}")
        for key, column, of_column in zip(self.keys, self.inputs, rows, strict=False):
            of_column.append(column.encode(item.inputs[key], f"{place}: '{key or column.name}'"))
        if self.target is not None:
            rows[-1].append(self.target.encode(item.target, f"{place}: the target"))

    def _check_labels(self, labels: np.ndarray, first: int) -> None:
        if self.task == "regression" and labels.ndim == 3:
            schema.check_map(labels, first)
        else:
            count = self.num_classes or schema.MAX_CLASSES
            schema.check_labels(labels, first, schema.find_task(self.task), count, self.ignore_index)

    def largest_label(self, rows: Rows) -> int:
        """Of those that are scored; -1 where none is, or labels are not numbers of classes."""
        labels = rows.columns[-1]
        if self.target is None or self.target.num_outputs is not None:
            return -1
        scored = labels if self.ignore_index is None else labels[labels != self.ignore_index]
        return int(scored.max()) if scored.size else -1

    def declare(self, out: DataSetWriter) -> list[Column]:
        return [column.declare(out) for column in self.columns]

    def declare_names(self, out: DataSetWriter) -> list[TextColumn]:
        """One column, or none."""
        return [out.add_names()] if self.is_named else []


def find_form(item: Item, options: FormOptions, source_names: Sequence[str] | None, renames_image: bool) -> SetForm:
    """As the first item has it. renames_image: the source's name of an only input that is an image does not matter."""
    place = item.place(0)
    inputs = tuple(
        _input_column(key, value, options, len(item.inputs) == 1, renames_image, place)
        for key, value in item.inputs.items()
    )
    if options.task == "predict":
        if options.num_classes or options.class_names:
            raise UsageError("the task predict has no classes, but --num-classes or --class-names was given")
        return SetForm("predict", tuple(item.inputs), inputs, None, None, None, None, item.name is not None)
    names = options.class_names or source_names
    target = TargetColumn.like(item.target, options.task, names, options.rounds, f"{place}: the target")
    if target.task not in ("multiclass", "binary"):
        names = options.class_names
    count = _count(options, target, names)
    class_names = tuple(names) if names else None
    return SetForm(
        target.task, tuple(item.inputs), inputs, target, count, class_names, options.ignore_index, item.name is not None
    )


def _input_column(
    key: str, value: Any, options: FormOptions, is_only: bool, renames_image: bool, place: str
) -> ImageColumn | TensorColumn:
    what = f"{place}: '{key}'" if key else f"{place}: the input"
    if options.input_name is not None and not is_only:
        raise UsageError("--input-name is for data sets with one input; those of several are named by their columns")
    if is_image(value, is_only or key == "image"):
        name = options.input_name or ("image" if renames_image and is_only else key) or "image"
        return ImageColumn.like(name, value, options.rule, options.encoding, what)
    column = TensorColumn.like(key, value, options.rounds, what)
    name = options.input_name or key or ("image" if len(column.shape) == 3 and column.dtype == "float32" else "features")
    return replace(column, name=name)


def _count(options: FormOptions, target: TargetColumn, names: Sequence[str] | None) -> int | None:
    """--num-classes, else the number of names, else what the first target implies."""
    implied = 2 if target.task == "binary" else target.num_outputs
    count = options.num_classes or implied or (len(names) if names else None)
    if implied is not None and count != implied:
        raise UsageError(f"--num-classes is {count}, but the first item's target has {implied}")
    if names and count != len(names):
        raise UsageError(f"there are {len(names)} class names for {count} {schema.find_task(target.task).counted}")
    return count
