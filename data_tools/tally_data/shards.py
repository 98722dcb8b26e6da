# SPDX-License-Identifier: Apache-2.0
"""A data set of one file, or of several files with an index (SCHEMA.md): rows go to the file that holds them."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py

from .atomic import atomic_path, check_output, flush_to_disk
from .column import Column
from .errors import DataError, OutputError, UsageError, reading
from .identity import identity
from .text_column import TextColumn
from .writer import DataSetWriter

SUFFIX = ".shards.json"
_VERSION = 1
# Declares the columns of a file that holds these samples of the set; returns those that are then appended to, in order.
Declare = Callable[[DataSetWriter, slice], Sequence[Column | TextColumn]]


def check_set_output(output: Path, shards: int | None, overwrite: bool) -> None:
    """Refuses what --output and --shards say, before any work is done. shards: None for one file."""
    if shards is None and output.name.endswith(SUFFIX):
        raise UsageError(f"--output '{output}' would be an index of several files: give --shards N, or another name")
    if shards is not None and (not output.name.endswith(SUFFIX) or output.name == SUFFIX):
        raise UsageError(f"--output is '{output}', with --shards it must be NAME{SUFFIX}")
    for path in (output, *_files(output, shards)):
        check_output(path, overwrite)


def check_num_shards(shards: int | None, num_samples: int) -> None:
    if shards is not None and shards > num_samples:
        raise UsageError(f"--shards is {shards}, more than the {num_samples} samples of the data set")


def describe_files(output: Path, shards: int | None) -> str:
    """Of a set that was written: its size, and number of files where there may be several."""
    size = f"{sum(path.stat().st_size for path in _files(output, shards)) / 1e6:.1f} MB"
    return size if shards is None else f"{size} in {shards} shard{'s' if shards > 1 else ''}"


def _files(output: Path, shards: int | None) -> list[Path]:
    if shards is None:
        return [output]
    stem = output.name.removesuffix(SUFFIX)
    return [output.with_name(f"{stem}.{number:05d}-of-{shards:05d}.h5") for number in range(shards)]


class RowWriter:
    """Appends samples to files one after the other, each of which holds an equal share of them.

    One file is open at a time. Used in a `with` statement; the arguments are those of DataSetWriter.
    """

    def __init__(self, paths: Sequence[Path], num_samples: int, declare: Declare, **arguments: Any) -> None:
        bounds = [number * num_samples // len(paths) for number in range(len(paths) + 1)]
        self.parts = [slice(*bound) for bound in pairwise(bounds)]
        self._paths = paths
        self._declare = declare
        self._arguments = arguments
        self._file = ExitStack()
        self._columns: Sequence[Column | TextColumn] = ()
        self._number = -1
        self._room = 0

    def __enter__(self) -> Self:
        self._open_next()  # refuses an output that cannot be written
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, trace)
        if error is None and self._number + 1 < len(self._paths):
            written = self.parts[self._number].stop
            raise DataError(f"{written} samples were written, expected {self.parts[-1].stop}")

    @property
    def column_paths(self) -> list[str]:
        return [column.path for column in self._columns]

    def append(self, *rows: Any) -> None:
        """For each column the values of the next samples: arrays [n, ...], lists of n texts."""
        first, count = 0, len(rows[0])
        while first < count:
            if self._room == 0:
                self._open_next()
            last = min(first + self._room, count)
            for column, values in zip(self._columns, rows, strict=True):
                column.append(values[first:last])
            self._room -= last - first
            first = last

    def _open_next(self) -> None:
        """Finishes the file that is open."""
        self._file.close()
        if self._number + 1 == len(self._paths):
            raise DataError(f"more than {self.parts[-1].stop} samples were written")
        self._number += 1
        part = self.parts[self._number]
        self._room = part.stop - part.start
        writer = DataSetWriter(self._paths[self._number], num_samples=self._room, **self._arguments)
        self._columns = self._declare(self._file.enter_context(writer), part)


@contextmanager
def open_set(
    output: Path, shards: int | None, num_samples: int, declare: Declare, *, overwrite: bool, **arguments: Any
) -> Iterator[RowWriter]:
    """The set is complete at the end of the block; after a failure none of its files is there.

    The arguments are those of DataSetWriter.
    """
    if shards is None:
        with RowWriter([output], num_samples, declare, overwrite=overwrite, **arguments) as rows:
            yield rows
        return
    check_num_shards(shards, num_samples)
    check_set_output(output, shards, overwrite)
    folder = output.with_name(f".{output.name}.{os.getpid()}.parts")
    try:
        folder.mkdir()
        paths = [folder / path.name for path in _files(output, shards)]
        with RowWriter(paths, num_samples, declare, **arguments) as rows:
            yield rows
        sizes = [part.stop - part.start for part in rows.parts]
        _publish(paths, output, _index_of(paths, sizes), overwrite)
    except OSError as error:
        raise OutputError(f"'{output}' cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _index_of(paths: Sequence[Path], sizes: Sequence[int]) -> dict[str, Any]:
    shards = []
    for path, rows in zip(paths, sizes, strict=True):
        with h5py.File(path) as file:
            shards.append({"file": path.name, "rows": rows, "identity": identity(file)})
            task = file.attrs["task"].decode()
    return {"tally_shards": _VERSION, "task": task, "num_samples": sum(sizes), "shards": shards}


def _publish(paths: Sequence[Path], output: Path, index: dict[str, Any], overwrite: bool) -> None:
    """The index comes last, and goes first where there is one: it never names files of two sets."""
    check_set_output(output, len(paths), overwrite)  # somebody may have written them meanwhile
    earlier, moved = _shards_named_by(output), []
    try:
        with atomic_path(output, overwrite) as temporary:
            temporary.write_text(json.dumps(index, indent=1) + "\n")
            output.unlink(missing_ok=True)
            for path in paths:
                moved.append(path.replace(output.with_name(path.name)))
            flush_to_disk(output.absolute().parent)
    finally:
        if not output.exists():
            for path in moved:
                path.unlink(missing_ok=True)
    for name in earlier - {path.name for path in paths}:
        output.with_name(name).unlink(missing_ok=True)


def _shards_named_by(index: Path) -> set[str]:
    """Those that were written with it, if it is there: other files that it may name are not ours to remove."""
    own_name = re.compile(re.escape(index.name.removesuffix(SUFFIX)) + r"\.\d{5,}-of-\d{5,}\.h5")
    try:
        names = [shard["file"] for shard in json.loads(index.read_text())["shards"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
    return {name for name in names if isinstance(name, str) and own_name.fullmatch(name)}


def read_index(index: Path) -> list[tuple[Path, int]]:
    """The files of a set, and how many samples each holds. Raises DataError for what is no index."""
    with reading(index):
        content = index.read_bytes()
    try:
        found = json.loads(content)
        shards = [(shard["file"], shard["rows"]) for shard in found["shards"]]
        is_index = found["tally_shards"] == _VERSION and found["num_samples"] == sum(rows for _, rows in shards)
    except (ValueError, KeyError, TypeError, RecursionError):
        shards, is_index = [], False
    if not is_index or not shards or not all(_is_file_name(name) for name, _ in shards):
        raise DataError(f"'{index}' is no index of a data set of several files (see SCHEMA.md)")
    return [(index.with_name(name), rows) for name, rows in shards]


def _is_file_name(name: Any) -> bool:
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\0")
