# SPDX-License-Identifier: Apache-2.0
"""What a data set file says of its samples to those who bring predictions for them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from .errors import DataError, reading

SAMPLE_NAMES = "/samples/name"  # ragged uint8, UTF-8; a data set may have none


@dataclass(frozen=True)
class ScoredSet:
    """label_shape: of a row of /targets/label, which is () where there is none."""

    path: Path
    task: str
    num_samples: int
    num_classes: int
    class_names: list[str]
    label_shape: tuple[int, ...]

    def sample_names(self) -> list[str]:
        """In the order of the samples. Raises DataError where the data set has no names."""
        with reading(self.path), h5py.File(self.path) as file:
            values, offsets = (_column(file, f"{SAMPLE_NAMES}/{part}") for part in ("values", "offsets"))
            if values is None or offsets is None:
                raise DataError(f"data set '{self.path}' has no names of samples ({SAMPLE_NAMES}); match by index instead")
            if values.dtype != np.uint8 or offsets.dtype.kind != "i" or offsets.shape != (self.num_samples + 1,):
                raise DataError(f"data set '{self.path}': {SAMPLE_NAMES} is no ragged array of {self.num_samples} texts")
            content = values[...].tobytes()
            offsets = offsets[...].tolist()
        return [content[begin:end].decode(errors="replace") for begin, end in zip(offsets, offsets[1:])]


def read_scored_set(path: Path) -> ScoredSet:
    """Raises DataError for a file that is no data set."""
    with reading(path):
        path.stat()
        if not h5py.is_hdf5(path):
            raise DataError(f"'{path}' is no data set file (not HDF5)")
        with h5py.File(path) as file:
            task, inputs = file.attrs.get("task"), file.get("inputs")
            if "tally_schema" not in file.attrs or task is None or not isinstance(inputs, h5py.Group) or not inputs:
                raise DataError(f"'{path}' is no data set file (see SCHEMA.md)")
            num_samples = _num_samples(next(iter(inputs.values())), path)
            names = _column(file, "class_names", ndim=1)
            label = _column(file, "targets/label")
            return ScoredSet(
                path, _text(task), num_samples, _num_classes(file), [] if names is None else list(map(_text, names[...])),
                () if label is None else label.shape[1:],
            )  # fmt: skip


def _column(file: h5py.File, name: str, ndim: int | None = None) -> h5py.Dataset | None:
    """None where there is none. Raises DataError where something else has its name."""
    found = file.get(name)
    if found is None:
        return None
    if not isinstance(found, h5py.Dataset) or not found.shape or (ndim is not None and found.ndim != ndim):
        raise DataError(f"data set '{file.filename}': {name} is no {'array' if ndim is None else 'list'}")
    return found


def _num_samples(column: Any, path: Path) -> int:
    """As many as the input has rows."""
    if not isinstance(column, h5py.Dataset) or not column.shape:
        raise DataError(f"data set '{path}': {column.name} is no array with a row for each sample")
    if column.shape[0] == 0:
        raise DataError(f"data set '{path}' has no samples")
    return column.shape[0]


def _num_classes(file: h5py.File) -> int:
    """0 where the task has none."""
    found = file.attrs.get("num_classes", 0)
    if not isinstance(found, int | np.integer):
        raise DataError(f"data set '{file.filename}': num_classes is {_text(found)!r}, expected a whole number")
    return int(found)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
