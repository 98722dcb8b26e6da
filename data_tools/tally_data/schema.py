# SPDX-License-Identifier: Apache-2.0
"""The names, numbers and plain checks of SCHEMA.md."""

import re
from dataclasses import dataclass

import numpy as np

from .errors import DataError, UsageError

SCHEMA_VERSION = 1
INPUT_DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float32", "float64")
MASK_DTYPES = ("uint8", "int16", "int32", "int64")
MAX_CLASSES = 2**31 - 1


@dataclass(frozen=True)
class Task:
    """What /targets/label holds, and what num_classes counts there."""

    name: str
    counted: str = ""  # classes, labels or outputs
    label_dtype: str | None = None  # None: there are no targets
    num_classes: tuple[int, int] | None = None  # least and most; None: there are no classes
    ignore_index: tuple[int, int] | None = None  # least and most; None: every target is scored
    is_sequence: bool = False  # a label of each place of a row: ignore_index is needed, and is no class

    def label_shape(self, num_classes: int) -> tuple[int, ...]:
        """Of a row of /targets/label."""
        if self.label_dtype == "int64" or (self.label_dtype == "float32" and num_classes == 1):
            return ()
        return (num_classes,)


_INT64 = (-(2**63), 2**63 - 1)
TASKS = {
    task.name: task
    for task in (
        Task("binary", "classes", "int64", (2, 2), _INT64),
        Task("multiclass", "classes", "int64", (2, MAX_CLASSES), _INT64),
        Task("multilabel", "labels", "uint8", (1, MAX_CLASSES), (2, 255)),
        Task("predict"),
        Task("regression", "outputs", "float32", (1, MAX_CLASSES)),
        Task("segmentation", "classes", "int64", (2, MAX_CLASSES), _INT64),
        Task("token-classification", "classes", "int64", (2, MAX_CLASSES), _INT64, is_sequence=True),
    )
}
MAX_ROWS_PER_BLOCK = 64
RAGGED_VALUES_PER_BLOCK = 4096  # values of ragged arrays are small, often bytes
MAX_BLOCK_BYTES = 64 << 20  # readers refuse larger blocks of more than one row
_BLOCK_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")

# What HDF5 1.10 (Debian 12 ships 1.10.8) can read: "latest" of a newer library would not be.
HDF5_VERSIONS = ("earliest", "v110")
HDF5_ALIGNMENT = {"alignment_threshold": 1 << 16, "alignment_interval": 4096}


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"the name '{name}' must be 1 to 64 of A-Z a-z 0-9 _ . - and begin with a letter or _"
        )
    return name


def find_task(name: str) -> Task:
    if name not in TASKS:
        raise UsageError(f"task '{name}' is not one that can be written; known: {', '.join(TASKS)}")
    return TASKS[name]


def _check_in_range(what: str, value: int, limits: tuple[int, int], task: Task) -> int:
    least, most = limits
    if not least <= value <= most:
        expected = f"{least}" if least == most else f"{least} to {most}"
        raise UsageError(f"{what} is {value}, expected {expected} for the task {task.name}")
    return value


def check_num_classes(num_classes: int | None, task: Task) -> int | None:
    if task.num_classes is None:
        if num_classes is not None:
            raise UsageError(f"num_classes was given, but the task {task.name} has no classes")
        return None
    if num_classes is None:
        raise UsageError(f"the task {task.name} needs num_classes")
    return _check_in_range("num_classes", num_classes, task.num_classes, task)


def check_ignore_index(ignore_index: int | None, task: Task, num_classes: int | None) -> int | None:
    if task.is_sequence and (ignore_index is None or 0 <= ignore_index < (num_classes or 0)):
        given = "was not given" if ignore_index is None else f"is {ignore_index}, one of the classes"
        raise UsageError(f"ignore_index {given}; the task {task.name} needs one that is no class, such as -100")
    if ignore_index is None:
        return None
    if task.ignore_index is None:
        scores = "no target" if task.label_dtype is None else "every target"
        raise UsageError(f"ignore_index was given, but the task {task.name} scores {scores}")
    return _check_in_range("ignore_index", ignore_index, task.ignore_index, task)


def check_class_names(names: list[str], num_classes: int | None, task: Task) -> list[str]:
    if num_classes is None:
        raise UsageError(f"class names were given, but the task {task.name} has no classes")
    if len(names) != num_classes:
        raise UsageError(f"{len(names)} class names were given for {num_classes} {task.counted}")
    for index, name in enumerate(names):
        if not name or "\0" in name:
            raise UsageError(f"class name {index} is {name!r}, expected text without NUL")
    return names


def check_labels(
    labels: np.ndarray, first_index: int, task: Task, num_classes: int, ignore_index: int | None
) -> None:
    """labels: [n], [n, num_classes] or masks [n, height, width] of the task's type, the rows from first_index on."""
    if task.label_dtype == "float32":
        bad, expected = ~np.isfinite(labels), "finite numbers"
    else:
        last = 1 if task.label_dtype == "uint8" else num_classes - 1
        bad, expected = (labels < 0) | (labels > last), f"0..{last}"
        if ignore_index is not None:
            bad &= labels != ignore_index
            expected += f" or ignore_index {ignore_index}"
    _refuse_labels(labels, first_index, bad, expected)


def check_label_sets(rows: list[np.ndarray], num_classes: int, ignore_index: int | None) -> None:
    """rows: int64 [n] each, the right classes of a sample."""
    if ignore_index is not None and 0 <= ignore_index < num_classes:
        raise UsageError(f"ignore_index is {ignore_index}, which is a class; with sets of labels it must be none")
    for index, row in enumerate(rows):
        place = f"/targets/labels[{index}]"
        if row.ndim != 1 or len(set(row.tolist())) != row.size:
            raise DataError(f"{place} = {row.tolist()}, expected a list of different classes")
        if row.size and not 0 <= row.min() <= row.max() < num_classes:
            raise DataError(f"{place} = {row.tolist()}, expected classes 0..{num_classes - 1}")
        if not row.size and ignore_index is None:
            raise DataError(f"{place} is empty: samples that are not scored need ignore_index")


def check_map(labels: np.ndarray, first_index: int) -> None:
    """labels: float32 [n, height, width], the rows from first_index on."""
    _refuse_labels(labels, first_index, np.isinf(labels), "finite numbers, or NaN where a pixel is not scored")


def _refuse_labels(labels: np.ndarray, first_index: int, bad: np.ndarray, expected: str) -> None:
    """Names the first of the bad ones, if there are any."""
    if bad.any():
        at = tuple(map(int, np.unravel_index(np.argmax(bad), bad.shape)))
        place = ", ".join(map(str, (first_index + at[0], *at[1:])))
        raise DataError(f"/targets/label[{place}] = {labels[at]}, expected {expected}")


def default_rows_per_block(row_bytes: int) -> int:
    """The largest power of two up to 64 whose block is at most 1 MiB; at least 1."""
    rows = MAX_ROWS_PER_BLOCK
    while rows > 1 and rows * row_bytes > _BLOCK_BYTES:
        rows //= 2
    return rows
