# SPDX-License-Identifier: Apache-2.0
"""Where prepare_dataset.py takes samples from: what --dataset names."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .errors import DataError, UsageError
from .items import ColumnChoice, Item


class Source(Protocol):
    """num_items: None where items come one after the other, and nobody knows how many.

    class_names: of its labels, where it knows them. renames_image: the name of an only input that is an image does not
    matter. fingerprint: of the code or files that it reads.
    """

    num_items: int | None
    class_names: list[str] | None
    renames_image: bool
    fingerprint: str

    def read(self, first: int, last: int | None) -> Iterator[Item]:
        """The items from number `first` to before `last`, or to the end."""


@dataclass(frozen=True)
class SourceSpec:
    """What a process needs to know to open the source."""

    dataset: str
    split: str | None
    choice: ColumnChoice


def open_source(spec: SourceSpec) -> Source:
    """Raises UsageError or DataError where --dataset names nothing that can be read."""
    library, colon, name = spec.dataset.rpartition(":")
    path = Path(spec.dataset)
    if colon and not path.exists():
        from .function_source import open_function

        _refuse_split(spec, "a function")
        return open_function(library, name, spec.choice)
    from .webdataset_source import find_tars, open_web_dataset

    if tars := find_tars(spec.dataset):
        _refuse_split(spec, "tars")
        return open_web_dataset(tars, spec.choice)
    if not path.exists():
        raise DataError(f"--dataset: '{spec.dataset}' is neither a file nor a folder, nor a function such as data.py:function")
    if path.suffix == ".py":
        raise UsageError(f"--dataset: name a function of '{path}' that returns the dataset: {path}:function")
    from .hugging_face_source import open_hugging_face

    return open_hugging_face(path, spec.split, spec.choice)


def _refuse_split(spec: SourceSpec, what: str) -> None:
    if spec.split is not None:
        raise UsageError(f"--split is for Hugging Face's datasets, and '{spec.dataset}' is {what}")


def fingerprint_of_files(files: list[Path]) -> str:
    """Sizes and times: enough to see that a file was changed."""
    states = [(str(file), file.stat()) for file in files]
    return "; ".join(f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states)
