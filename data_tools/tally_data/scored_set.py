# SPDX-License-Identifier: Apache-2.0
"""What a data set, of one file or of several, says of its samples to those who bring predictions for them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from .errors import DataError, reading
from .shards import SUFFIX, read_index

SAMPLE_NAMES = "/samples/name"  # ragged uint8, UTF-8; a data set may have none


@dataclass(frozen=True)
class ScoredSet:
    """label_shape: of a row of /targets/label, which is () where there is none; files: with how many samples each."""

    path: Path
    task: str
    num_samples: int
    num_classes: int
    class_names: list[str]
    label_shape: tuple[int, ...]
    files: list[tuple[Path, int]]

    def sample_names(self) -> list[str]:
        """In the order of the samples. Raises DataError where the data set has no names."""
        return [name for path, num_samples in self.files for name in _names_in(path, num_samples)]


def _names_in(path: Path, num_samples: int) -> list[str]:
    with reading(path), h5py.File(path) as file:
        values, offsets = (_column(file, f"{SAMPLE_NAMES}/{part}") for part in ("values", "offsets"))
        if values is None or offsets is None:
            raise DataError(f"data set '{path}' has no names of samples ({SAMPLE_NAMES}); match by index instead")
        if values.dtype != np.uint8 or offsets.dtype.kind != "i" or offsets.shape != (num_samples + 1,):
            raise DataError(f"data set '{path}': {SAMPLE_NAMES} is no ragged array of {num_samples} texts")
        content = values[...].tobytes()
        offsets = offsets[...].tolist()
    return [content[begin:end].decode(errors="replace") for begin, end in zip(offsets, offsets[1:])]


def read_scored_set(path: Path) -> ScoredSet:
    """Raises DataError for what is no data set file, and no index of several."""
    if not path.name.endswith(SUFFIX):
        return _read_file(path)
    files = read_index(path)
    first, *others = (_read_file(file) for file, _ in files)
    for (file, rows), found in zip(files, [first, *others], strict=True):
        if found.num_samples != rows:
            raise DataError(f"data set '{file}' has {found.num_samples} samples, its index '{path}' says {rows}")
        if replace(found, path=path, num_samples=0, files=[]) != replace(first, path=path, num_samples=0, files=[]):
            raise DataError(f"data set '{file}' has another task, other classes or labels than '{first.path}': both are in '{path}'")
    return replace(first, path=path, num_samples=sum(rows for _, rows in files), files=files)


def _read_file(path: Path) -> ScoredSet:
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
                () if label is None else label.shape[1:], [(path, num_samples)],
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
