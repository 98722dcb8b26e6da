"""The names, numbers and plain checks of SCHEMA.md."""

import re

import numpy as np

from .errors import DataError, UsageError

SCHEMA_VERSION = 1
TASKS = ("multiclass",)
INPUT_DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float32", "float64")
MAX_CLASSES = 2**31 - 1
MAX_ROWS_PER_BLOCK = 64
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


def check_task(task: str) -> str:
    if task not in TASKS:
        raise UsageError(f"task '{task}' is not one that can be written; known: {', '.join(TASKS)}")
    return task


def check_num_classes(num_classes: int) -> int:
    if not 2 <= num_classes <= MAX_CLASSES:
        raise UsageError(f"num_classes is {num_classes}, expected 2 to {MAX_CLASSES}")
    return num_classes


def check_class_names(names: list[str], num_classes: int) -> list[str]:
    if len(names) != num_classes:
        raise UsageError(f"{len(names)} class names were given for {num_classes} classes")
    for index, name in enumerate(names):
        if not name or "\0" in name:
            raise UsageError(f"the name of class {index} is {name!r}, expected text without NUL")
    return names


def check_labels(labels: np.ndarray, first_index: int, num_classes: int, ignore_index: int | None) -> None:
    """labels: int64 [n], the rows from first_index on."""
    bad = (labels < 0) | (labels >= num_classes)
    if ignore_index is not None:
        bad &= labels != ignore_index
    if bad.any():
        at = int(np.argmax(bad))
        also = "" if ignore_index is None else f" or ignore_index {ignore_index}"
        raise DataError(
            f"/targets/label[{first_index + at}] = {labels[at]}, expected 0..{num_classes - 1}{also}"
        )


def default_rows_per_block(row_bytes: int) -> int:
    """The largest power of two up to 64 whose block is at most 1 MiB; at least 1."""
    rows = MAX_ROWS_PER_BLOCK
    while rows > 1 and rows * row_bytes > _BLOCK_BYTES:
        rows //= 2
    return rows
