# SPDX-License-Identifier: Apache-2.0
"""Rows of parquet files, and of the folders that Hugging Face's datasets save or publish."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from .errors import DataError, EnvironmentFault, UsageError
from .json_form import parse_json

ClassNames = dict[str, list[str]]
Rows = Iterator[tuple[str, dict[str, Any]]]
_PART = re.compile(r"-\d+-of-\d+$")


class Wanted(NamedTuple):
    """Fields that are read: those that must be there, and those that may."""

    required: Collection[str]
    optional: Collection[str]

    def columns(self, found: list[str], path: Path) -> list[str]:
        missing = next((name for name in self.required if name not in found), None)
        if missing is not None:
            raise UsageError(f"'{path}' has no field '{missing}'; it has {', '.join(found)}")
        return [name for name in found if name in self.required or name in self.optional]


def parquet_file(path: Path, wanted: Wanted | None) -> tuple[Rows, ClassNames]:
    """Rows with their places, and the names of classes where a field's type says them; wanted: None for all fields."""
    return _rows([path], wanted), _class_names(path)


def arrow_folder(folder: Path, split: str | None, wanted: Wanted | None) -> tuple[Rows, ClassNames]:
    """Of a folder that save_to_disk() wrote, or one with parquet files; split: which part, where there are several."""
    if (folder / "dataset_dict.json").is_file():
        folder = folder / _chosen(folder, split, names_of_splits(folder))
        files = _saved(folder)
    elif (folder / "state.json").is_file():
        if split is not None:
            raise UsageError(f"--split: '{folder}' is one part of a data set already")
        files = _saved(folder)
    else:
        published = _published(folder)
        files = published[_chosen(folder, split, sorted(published))]
    return _rows(files, wanted), _class_names(files[0])


def _chosen(folder: Path, split: str | None, names: list[str]) -> str:
    listed = ", ".join(names)
    if split is not None and split not in names:
        raise UsageError(f"--split: '{folder}' has no part '{split}'; it has {listed}")
    if split is None and len(names) > 1:
        raise UsageError(f"'{folder}' has several parts; choose one with --split: {listed}")
    return split or names[0]


def names_of_splits(folder: Path) -> list[str]:
    """Of a folder that DatasetDict.save_to_disk wrote; each is a folder in it."""
    content = parse_json(folder / "dataset_dict.json")
    names = content.get("splits") if isinstance(content, dict) else None
    if not isinstance(names, list) or not names or not all(map(_is_plain_name, names)):
        raise DataError(f"'{folder / 'dataset_dict.json'}' names no splits, or not as folders beside it")
    return names


def _is_plain_name(name: Any) -> bool:
    """Of a file or folder in a folder; `../x` leads out of it."""
    return isinstance(name, str) and name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _saved(folder: Path) -> list[Path]:
    """The files that hold a saved data set."""
    content = parse_json(folder / "state.json")
    files = content.get("_data_files") if isinstance(content, dict) else None
    names = [file.get("filename") for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    if not names or not all(map(_is_plain_name, names)):
        raise DataError(f"'{folder / 'state.json'}' names no files of data, as datasets' save_to_disk() would")
    if content.get("_indices_files") or content.get("_indices_data_files"):
        raise DataError(f"'{folder}' keeps an order beside its rows, as old versions of datasets did; save it anew")
    return [folder / name for name in names]


def _published(folder: Path) -> dict[str, list[Path]]:
    """Of each part of the data set its parquet files: validation-00000-of-00002.parquet and so on."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.parquet")):
        found.setdefault(_PART.sub("", path.stem), []).append(path)
    if not found:
        raise DataError(
            f"'{folder}' holds neither state.json nor .parquet files, expected the folder of a Hugging Face data set"
        )
    for name, files in found.items():
        if len({file.parent for file in files}) > 1:
            raise UsageError(f"'{folder}' has files of '{name}' in several folders: give the folder of one")
    return found


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise EnvironmentFault(
            "parquet files and Hugging Face data sets need pyarrow, which is not installed; run "
            "\"$TALLY_PYTHON\" -m pip install pyarrow"
        ) from error
    return pyarrow


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A parquet file, or one of the streams of record batches that save_to_disk() writes."""
    pyarrow = _pyarrow()
    try:
        if path.suffix == ".parquet":
            with pyarrow.parquet.ParquetFile(path) as file:
                yield file
        else:
            with pyarrow.memory_map(str(path)) as memory, pyarrow.ipc.open_stream(memory) as file:
                yield file
    except (OSError, ValueError, OverflowError, pyarrow.ArrowException) as error:  # also texts that are not UTF-8
        reason = getattr(error, "strerror", None) or (str(error).splitlines() or [""])[0]
        raise DataError(f"'{path}' cannot be read: {reason}") from error


def _rows(paths: list[Path], wanted: Wanted | None) -> Rows:
    number = 0
    for path in paths:
        with _opened(path) as file:
            for batch in _batches(file, path, wanted):
                for values in batch.to_pylist():
                    number += 1
                    yield f"row {number}", values


def _batches(file: Any, path: Path, wanted: Wanted | None) -> Iterator[Any]:
    is_parquet = path.suffix == ".parquet"
    found = list((file.schema_arrow if is_parquet else file.schema).names)
    columns = found if wanted is None else wanted.columns(found, path)
    if is_parquet:
        return file.iter_batches(columns=columns)
    places = [place for place, name in enumerate(found) if name in columns]
    return (batch.select(places) for batch in file)


def _class_names(path: Path) -> ClassNames:
    """Of fields that are a ClassLabel of datasets, or lists of them, by what it wrote into the schema."""
    with _opened(path) as file:
        schema = file.schema_arrow if path.suffix == ".parquet" else file.schema
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        found = {name: _names_in(feature) for name, feature in features.items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return {name: names for name, names in found.items() if names}


def _names_in(feature: Any) -> list[str]:
    """`feature` is written as an object, of a list also as a list of one."""
    while isinstance(feature, list) and len(feature) == 1:
        feature = feature[0]
    if not isinstance(feature, dict):
        return []
    if feature.get("_type") == "ClassLabel":
        return [name for name in feature.get("names") or [] if isinstance(name, str)]
    return _names_in(feature.get("feature"))
