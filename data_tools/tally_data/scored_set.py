# SPDX-License-Identifier: Apache-2.0
"""What a data set file says of its samples to those who bring predictions for them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py

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
            if f"{SAMPLE_NAMES}/values" not in file or f"{SAMPLE_NAMES}/offsets" not in file:
                raise DataError(f"data set '{self.path}' has no names of samples ({SAMPLE_NAMES}); match by index instead")
            content = file[f"{SAMPLE_NAMES}/values"][...].tobytes()
            offsets = file[f"{SAMPLE_NAMES}/offsets"][...].tolist()
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
            names = file["class_names"][...].tolist() if "class_names" in file else []
            label = file.get("targets/label")
            return ScoredSet(
                path, _text(task), len(next(iter(inputs.values()))), int(file.attrs.get("num_classes", 0)),
                [_text(name) for name in names], () if label is None else label.shape[1:],
            )  # fmt: skip


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
