# SPDX-License-Identifier: Apache-2.0
"""What is to be said of each text, by task: a class, labels or values, from the fields of records."""

import math
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .class_numbers import ClassNumbers, Label, Numbering, given_classes, label_of, number_of, order_by_name
from .errors import DataError, UsageError
from .json_form import JsonForm
from .records import Records

NO_CLASS = -1  # as GLUE's test sets have it
NO_FLAG = 255
_Convert = Callable[[Any, str, str], float]  # of a value, its place and what it is called
_WITHOUT_LABEL = (None, "", "-")  # the last one as SNLI has it, where people did not agree


@dataclass(frozen=True)
class Targets:
    """values: as DataSetWriter.add_target takes them; num_ignored: rows of which nothing is scored."""

    values: np.ndarray
    num_classes: int
    class_names: list[str] | None
    ignore_index: int | None = None
    num_ignored: int = 0


class TargetReader:
    """fields: the names of --label-field."""

    def __init__(self, args: Namespace, records: Records, form: JsonForm, fields: Sequence[str]) -> None:
        self._args, self._records, self._form, self._fields = args, records, form, fields
        self._given = given_classes(args.class_names, args.like)

    def read(self) -> Targets:
        return _READERS[self._args.task](self)

    def classes(self) -> Targets:
        """multiclass and binary."""
        key = self._only_field()
        labels = [self._class(row[key], place) for place, row in self._records.rows]
        found = self._numbering([[label] for label in labels], 2)
        if self._args.task == "binary" and found.count != 2:
            raise UsageError(f"there are {found.count} classes, expected 2 for --task binary")
        values = np.array([NO_CLASS if label is None else found.numbers[label] for label in labels], np.int64)
        return self._targets(values, found.count, found.names, NO_CLASS, values == NO_CLASS)

    def labels(self) -> Targets:
        """multilabel."""
        if len(self._fields) > 1 or self._args.label_flags:
            return self._flags()
        key = self._only_field()
        rows = [self._list(row[key], place) for place, row in self._records.rows]
        found = self._numbering([row or [] for row in rows], 1)
        values = np.zeros((len(rows), found.count), np.uint8)
        for at, row in enumerate(rows):
            values[at, [found.numbers[label] for label in row or []]] = 1
            if row is None:
                values[at] = NO_FLAG
        return self._targets(values, found.count, found.names, NO_FLAG, (values == NO_FLAG).all(1))

    def values(self) -> Targets:
        """regression; float32, as models compute."""
        values, names = self._columns(self._value, np.float32)
        return self._targets(values[:, 0] if values.shape[1] == 1 else values, values.shape[1], names)

    def _flags(self) -> Targets:
        values, names = self._columns(self._flag, np.uint8)
        return self._targets(values, values.shape[1], names, NO_FLAG, (values == NO_FLAG).all(1))

    def _columns(self, convert: _Convert, dtype: type) -> tuple[np.ndarray, list[str] | None]:
        """[N, C] in the order of the classes, and their names. Fields are matched by name with those of the model."""
        values = np.array(self._vectors(convert), dtype)
        count, given = values.shape[1], self._given
        if len(self._fields) > 1:
            names, order = order_by_name(list(self._fields), given)
            return values[:, np.argsort(order)], names
        if given is not None and given.count not in (None, count):
            raise UsageError(f"rows have {count} values, {given.origin} has {given.count} classes")
        return values, given.names if given is not None else None

    def _targets(
        self, values: np.ndarray, count: int, names: list[str] | None, ignore_index: int | None = None,
        is_ignored: np.ndarray | None = None,
    ) -> Targets:  # fmt: skip
        if is_ignored is not None and is_ignored.all():
            raise DataError(f"'{self._records.path}' has no row with a label: there is nothing to score")
        unscored = ignore_index is not None and bool((values == ignore_index).any())
        num_ignored = 0 if is_ignored is None else int(is_ignored.sum())
        return Targets(values, count, names, ignore_index if unscored else None, num_ignored)

    def _only_field(self) -> str:
        if len(self._fields) > 1:
            raise UsageError(f"--label-field names {len(self._fields)} fields, the task {self._args.task} has one")
        return self._fields[0]

    def _numbering(self, rows: Sequence[Sequence[Label | None]], least: int) -> ClassNumbers:
        key, first = self._only_field(), {}
        for (place, _), row in zip(self._records.rows, rows, strict=True):
            for label in row:
                if label is not None:
                    first.setdefault(label, place)
        own_names = self._records.class_names.get(key)
        if not first and own_names is None and self._given is None:
            raise DataError(f"'{self._records.path}' has no row with a label: there is nothing to score")
        return Numbering(self._form, key, self._given, own_names).numbers(first, least)

    def _class(self, value: Any, place: str) -> Label | None:
        is_name = self._given is not None and value in (self._given.names or ())
        if (value in _WITHOUT_LABEL and not is_name) or number_of(value) == NO_CLASS:
            return None
        label = label_of(value, self._given)
        if label is None:
            raise self._form.wrong(place, f"has no '{self._fields[0]}' that is a class")
        if isinstance(label, str):
            self._form.plain_text(label, place, self._fields[0])
        return label

    def _list(self, value: Any, place: str) -> list[Label] | None:
        if value is None or (not isinstance(value, list) and number_of(value) == NO_CLASS):
            return None
        if isinstance(value, str):
            value = [part for part in value.split(self._args.label_separator or ",") if part.strip()]
        if not isinstance(value, list):
            raise self._form.wrong(place, f"has no '{self._fields[0]}' that is a list of classes")
        found = [self._class(one, place) for one in value]
        if None in found:
            raise self._form.wrong(place, f"has a '{self._fields[0]}' with an empty label")
        return [label for label in found if label is not None]

    def _vectors(self, convert: _Convert) -> list[list[float]]:
        """Of each row the fields, or the list that the only one holds; all rows have as many values."""
        found: list[list[float]] = []
        for place, row in self._records.rows:
            values = [(key, row[key]) for key in self._fields]
            if len(values) == 1 and isinstance(values[0][1], list):
                values = list(self._form.items(values[0][1], self._fields[0]))
            found.append([convert(value, place, key) for key, value in values])
            if not values or len(values) != len(found[0]):
                raise self._form.wrong(place, f"has {len(values)} values, expected {len(found[0]) or 'at least 1'}")
        return found

    def _flag(self, value: Any, place: str, key: str) -> float:
        number = NO_CLASS if value in _WITHOUT_LABEL else number_of(value)
        if number not in (0, 1, NO_CLASS):
            raise self._form.wrong(place, f"has {key} = {value!r}, expected 0, 1 or -1")
        return NO_FLAG if number == NO_CLASS else number

    def _value(self, value: Any, place: str, key: str) -> float:
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                value = math.nan
        return self._form.number(value, place, f"a '{key}'")


_READERS: dict[str, Callable[[TargetReader], Targets]] = {
    "multiclass": TargetReader.classes,
    "binary": TargetReader.classes,
    "multilabel": TargetReader.labels,
    "regression": TargetReader.values,
}
TASKS = tuple(_READERS)
