# SPDX-License-Identifier: Apache-2.0
"""Writes a data set of samples: in parts, read by several processes, that are joined at the end."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from .checksum import BlockChecksums
from .column import Column
from .errors import DataError, OutputError, reading
from .item_form import Rows, SetForm
from .parallel import ordered_map
from .part_folder import PartFolder
from .progress import progress_bar
from .shards import check_num_shards, open_set
from .sources import Source, SourceSpec, open_source
from .structure import CHECKSUMS
from .text_column import NAMES, TextColumn
from .writer import DataSetWriter

_CHUNK_BYTES = 4 << 20
_MAX_CHUNK_ROWS = 1024
_PART_BYTES = 256 << 20
Span = tuple[int, int]
Part = tuple[int, int, Iterable[Rows]]  # number, rows, their values


@dataclass(frozen=True)
class ItemSet:
    """What is to be written, and how; part_rows: None for parts of some 256 MB."""

    source: Source
    spec: SourceSpec
    form: SetForm
    workers: int
    part_rows: int | None

    @property
    def rows_per_part(self) -> int:
        return self.part_rows or max(1, _PART_BYTES // self.form.row_bytes)

    @property
    def chunk_rows(self) -> int:
        """That a process reads at a time."""
        return min(max(1, _CHUNK_BYTES // self.form.row_bytes), _MAX_CHUNK_ROWS)

    def settings(self) -> dict[str, Any]:
        """All that the bytes of a part depend on; the classes are counted and named when parts are joined."""
        form = replace(self.form, num_classes=None, class_names=None)
        return {
            "dataset": self.spec.dataset, "split": self.spec.split, "columns": repr(self.spec.choice),
            "content of the dataset": self.source.fingerprint, "num_items": self.source.num_items,
            "form": repr(form), "part_rows": self.rows_per_part,
        }  # fmt: skip


class Written(NamedTuple):
    """form: with the number of classes."""

    form: SetForm
    num_rows: int


def write_item_set(items: ItemSet, output: Path, overwrite: bool, shards: int | None = None) -> Written:
    """shards: None for one file."""
    if items.source.num_items is not None:
        check_num_shards(shards, items.source.num_items)
    with PartFolder(output, items.settings()) as folder:
        num_rows = _write_parts(items, folder, output.name)
        form = items.form
        if form.counts_classes:
            form = replace(form, num_classes=_count_classes(folder, len(num_rows)))
        _join(form, folder, num_rows, output, overwrite, shards)
    return Written(form, sum(num_rows))


def _write_parts(items: ItemSet, folder: PartFolder, what: str) -> list[int]:
    """The parts that are missing; returns the rows of all of them."""
    num_items, found = items.source.num_items, folder.rows_of_parts()
    if found:
        print(f"note: {len(found)} parts of an earlier run are there already, {sum(found)} items")
    with progress_bar(num_items, "item", what) as bar:
        bar.update(sum(found))
        parts = _parts_of_stream(items, folder) if num_items is None else _parts_of_map(items, folder, num_items)
        with closing(parts):
            for number, rows, values in parts:
                _write_part(items.form, folder.part(number), rows, values, bar)
    return folder.rows_of_parts()


def _parts_of_map(items: ItemSet, folder: PartFolder, num_items: int) -> Iterator[Part]:
    step, chunk = items.rows_per_part, items.chunk_rows
    begins = range(0, num_items, step)
    missing = [number for number in range(len(begins)) if not folder.part(number).exists()]
    spans: dict[int, list[Span]] = {}
    for number in missing:
        end = min(begins[number] + step, num_items)
        spans[number] = [(first, min(first + chunk, end)) for first in range(begins[number], end, chunk)]
    every_span = [span for of_part in spans.values() for span in of_part]
    workers = max(1, min(items.workers, len(every_span)))
    work = partial(_encode_span, items.source, items.form) if workers == 1 else partial(_encode_anew, items.spec, items.form)
    with closing(ordered_map(work, every_span, workers)) as values:
        for number, of_part in spans.items():
            yield number, of_part[-1][1] - of_part[0][0], islice(values, len(of_part))


def _encode_span(source: Source, form: SetForm, span: Span) -> Rows:
    return form.encode(source.read(*span), span[0])


@cache
def _source_of_worker(spec: SourceSpec) -> Source:
    return open_source(spec)


def _encode_anew(spec: SourceSpec, form: SetForm, span: Span) -> Rows:
    """In a process that opens the source for itself, once."""
    return _encode_span(_source_of_worker(spec), form, span)


def _parts_of_stream(items: ItemSet, folder: PartFolder) -> Iterator[Part]:
    """A part's rows are in memory: how many there are is not known before."""
    found = folder.rows_of_parts()
    number, done = len(found), sum(found)
    stream = items.source.read(done, None)
    while True:
        values: list[Rows] = []
        left = items.rows_per_part
        while left > 0 and len(rows := items.form.encode(islice(stream, min(left, items.chunk_rows)), done)):
            values.append(rows)
            left, done = left - len(rows), done + len(rows)
        if not values:
            return
        yield number, sum(map(len, values)), values
        number += 1


def _write_part(form: SetForm, path: Path, num_rows: int, values: Iterable[Rows], bar: Any) -> None:
    """A data set file of its own."""
    largest = -1
    with DataSetWriter(
        path, task=form.task, num_classes=form.most_classes, num_samples=num_rows, ignore_index=form.ignore_index
    ) as out:
        columns, names = form.declare(out), form.declare_names(out)
        out.set_attribute("num_rows", num_rows)
        for rows in values:
            for column, array in zip(columns, rows.columns, strict=True):
                column.append(array)
            for column in names:
                column.append(rows.names)
            largest = max(largest, form.largest_label(rows))
            bar.update(len(rows))
        out.set_attribute("largest_label", largest)


def _count_classes(folder: PartFolder, num_parts: int) -> int:
    largest = -1
    for number in range(num_parts):
        with reading(folder.part(number)), h5py.File(folder.part(number)) as file:
            largest = max(largest, int(file.attrs["largest_label"]))
    if largest < 1:
        raise DataError(f"the largest label is {largest}, expected 2 classes or more: give --num-classes")
    print(f"note: {largest + 1} classes, as the largest label is {largest}; give --num-classes if there are more")
    return largest + 1


def _join(
    form: SetForm, folder: PartFolder, num_rows: list[int], output: Path, overwrite: bool, shards: int | None
) -> None:
    def declare(out: DataSetWriter, _: slice) -> list[Column | TextColumn]:
        return [*form.declare(out), *form.declare_names(out)]

    total, step = sum(num_rows), max(1, _CHUNK_BYTES // form.row_bytes)
    with (
        open_set(
            output, shards, total, declare, overwrite=overwrite, task=form.task, num_classes=form.num_classes,
            class_names=form.class_names, ignore_index=form.ignore_index,
        ) as out,
        progress_bar(total, "row", f"{output.name}, joining parts") as bar,
    ):  # fmt: skip
        for number, rows in enumerate(num_rows):
            for values in _rows_of_part(folder.part(number), out.column_paths, step):
                out.append(*values)
            bar.update(rows)


def _rows_of_part(path: Path, columns: list[str], step: int) -> Iterator[tuple[Any, ...]]:
    """For each column the values of `step` rows."""
    with reading(path):
        part = h5py.File(path)
    with part:
        yield from zip(
            *(
                _checked_texts(part, name, path, step) if name == NAMES else _checked_rows(part, name, path, step)
                for name in columns
            ),
            strict=True,
        )


def _checked_texts(part: h5py.File, name: str, path: Path, step: int) -> Iterator[list[str]]:
    values, offsets = (
        np.concatenate(
            [np.empty(0, part[f"{name}/{half}"].dtype), *_checked_rows(part, f"{name}/{half}", path, _CHUNK_BYTES)]
        )
        for half in ("values", "offsets")
    )
    content = values.tobytes()
    texts = [content[begin:end].decode() for begin, end in pairwise(offsets.tolist())]
    for first in range(0, len(texts), step):
        yield texts[first : first + step]


def _checked_rows(part: h5py.File, name: str, path: Path, step: int) -> Iterator[np.ndarray]:
    """Of the dataset `name`, whose checksums must be right."""
    with reading(path):
        dataset, table = part[name], part[f"{CHECKSUMS}{name}"][...]
        found = BlockChecksums(int(part[f"{CHECKSUMS}{name}"].attrs["rows_per_block"]))
    for first in range(0, len(dataset), step):
        with reading(path):
            rows = dataset[first : first + step]
        found.update(rows)
        yield rows
    if not np.array_equal(found.table(), table):
        raise OutputError(f"'{path}' is damaged: its checksums are others; remove it and give the same command once more")
