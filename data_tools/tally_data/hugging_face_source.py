# SPDX-License-Identifier: Apache-2.0
"""Samples of a Hugging Face dataset: a folder of Dataset.save_to_disk, or parquet files."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .arrow_records import names_of_splits
from .errors import DataError, EnvironmentFault, UsageError
from .items import ColumnChoice, Item
from .parquet_rows import ParquetRows
from .sources import fingerprint_of_files

_INPUTS = ("image", "img")
_NUMBERS = {"bool", "float16", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


class Table(Protocol):
    """features: as `datasets` describes the columns."""

    features: Mapping[str, Any]

    def __len__(self) -> int: ...

    def rows(self, first: int, last: int, columns: list[str]) -> Iterable[dict[str, Any]]:
        """As Python's own values; images are not decoded."""


class HuggingFaceSource:
    """The rows of a table of `datasets`."""

    renames_image = True

    def __init__(self, table: Table, choice: ColumnChoice, fingerprint: str, decode: Callable[[Any], Any]) -> None:
        self.num_items = len(table)
        self.fingerprint = fingerprint
        self._table = table
        self._decode = decode
        self._target = choice.target_of(table.features)
        self._inputs = choice.inputs_of(table.features, _INPUTS)
        self._columns = [*self._inputs, *([self._target] if self._target is not None else [])]
        self._dtypes = {name: _dtype(table.features[name]) for name in self._columns}
        self.class_names = list(getattr(table.features.get(self._target), "names", None) or []) or None

    def read(self, first: int, last: int | None) -> Iterator[Item]:
        end = self.num_items if last is None else last
        for index, row in enumerate(self._table.rows(first, end, self._columns), first):
            values = {name: self._value(row[name], name, index) for name in self._columns}
            target = None if self._target is None else values[self._target]
            yield Item({name: values[name] for name in self._inputs}, target, _file_name(row))

    def _value(self, value: Any, column: str, index: int) -> Any:
        dtype, what = self._dtypes[column], f"item {index}: '{column}'"
        if _is_encoded(value):
            try:
                return self._decode(value)
            except Exception as error:
                raise DataError(f"{what} cannot be decoded: it is damaged or no image ({type(error).__name__})") from error
        if dtype is None or value is None:
            return value
        try:
            return np.asarray(value, dtype)
        except (ValueError, TypeError) as error:
            raise DataError(f"{what} is no array: {error}") from error


def _is_encoded(value: Any) -> bool:
    """An image as `datasets` keeps it: its bytes, or its path."""
    return isinstance(value, dict) and value.keys() == {"bytes", "path"} and any(value.values())


def _file_name(row: dict[str, Any]) -> str | None:
    paths = [value["path"] for value in row.values() if _is_encoded(value) and value["path"]]
    return Path(paths[0]).name if paths else None


def _dtype(feature: Any) -> np.dtype | None:
    """Of the numbers in it; None where there are others, or none."""
    while (inner := getattr(feature, "feature", None)) is not None:
        feature = inner
    name = str(getattr(feature, "dtype", ""))
    return np.dtype(name) if name in _NUMBERS else None


class _SavedRows:
    """Of a folder that Dataset.save_to_disk wrote."""

    def __init__(self, folder: Path, datasets: Any) -> None:
        try:
            dataset = datasets.load_from_disk(str(folder))
        except Exception as error:  # of the operating system, of Arrow, of JSON
            raise DataError(f"'{folder}' cannot be read: {error}") from error
        self.features = dataset.features
        self._dataset = dataset.with_format("arrow")

    def __len__(self) -> int:
        return len(self._dataset)

    def rows(self, first: int, last: int, columns: list[str]) -> Iterable[dict[str, Any]]:
        try:
            return self._dataset.select_columns(columns)[first:last].to_pylist()
        except Exception as error:  # Arrow has an exception of its own for each fault
            raise DataError(f"the items {first} to {last - 1} cannot be read: {error}") from error


def open_hugging_face(path: Path, split: str | None, choice: ColumnChoice) -> HuggingFaceSource:
    """A folder that Dataset.save_to_disk or DatasetDict.save_to_disk wrote, a folder of parquet files, or one of them."""
    datasets = _import()
    if path.is_dir() and ((path / "dataset_dict.json").is_file() or (path / "state.json").is_file()):
        folder = _split_folder(path, split)
        table: Table = _SavedRows(folder, datasets)
        files = sorted(folder.glob("*.arrow"))
    elif path.suffix == ".parquet" or (path.is_dir() and any(path.rglob("*.parquet"))):
        files = _parquet_files(path, split, datasets)
        table = ParquetRows(files, datasets)
    else:
        raise DataError(f"'{path}' is no dataset: expected tars, parquet files, or a folder that Dataset.save_to_disk wrote")
    return HuggingFaceSource(table, choice, fingerprint_of_files(files), datasets.Image().decode_example)


def _import() -> Any:
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"  # everything is read from the disk
    try:
        import datasets
    except ImportError as error:
        raise EnvironmentFault("datasets is not installed; run: pip install datasets") from error
    datasets.disable_progress_bars()
    return datasets


def _split_folder(path: Path, split: str | None) -> Path:
    if not (path / "dataset_dict.json").is_file():
        if split is not None:
            raise UsageError(f"--split: '{path}' is one dataset without splits")
        return path
    return path / _chosen(split, names_of_splits(path), path)


def _parquet_files(path: Path, split: str | None, datasets: Any) -> list[Path]:
    """Which file is of which split says `datasets`, by its rules for names."""
    where = {"data_dir": str(path)} if path.is_dir() else {"data_files": str(path)}
    with tempfile.TemporaryDirectory() as cache:
        try:
            found = datasets.load_dataset_builder("parquet", cache_dir=cache, **where).config.data_files
        except Exception as error:
            raise DataError(f"'{path}' cannot be read: {error}") from error
    return [Path(file) for file in found[_chosen(split, list(found), path)]]


def _chosen(split: str | None, splits: list[str], path: Path) -> str:
    if split is None and len(splits) == 1:
        return splits[0]
    if split not in splits:
        said = "give --split" if split is None else f"there is no split '{split}'"
        raise UsageError(f"{said}: '{path}' has {', '.join(splits)}")
    return split
