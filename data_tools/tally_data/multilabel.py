# SPDX-License-Identifier: Apache-2.0
"""Label files of images that have several labels each: a column of 0 and 1 for each class, or a list of names."""

import argparse
import csv
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

import numpy as np

from .errors import DataError
from .image_files import ImageFiles
from .label_file import LabelFile
from .labels import Labels, numbers_of

IGNORED = 255  # a label that is not scored
_VALUES = {"0": 0, "1": 1, "false": 0, "true": 1, "": IGNORED}
_SEPARATORS = re.compile(r"[|;,]")


class _Form(Protocol):
    """What the columns of a label file mean."""

    width: int  # how many columns each line has

    def labels(self, number: int, cells: list[str]) -> bytes:
        """A byte per class, of the line with this number."""


def labels_from_table(
    images: ImageFiles, path: Path, class_names: list[str] | None, ignore_value: str | None
) -> Labels:
    """class_names: which columns are read, in this order, or what the names in lists mean; None: all columns.

    ignore_value: what stands in a column where the label is not known, besides nothing and -1.
    """
    file = LabelFile(path)
    header = _cells(file, *file.lines[0])
    form: _Form
    if class_names is None or set(class_names) <= set(header[1:]):
        names = class_names or header[1:]
        form, lines = _Columns(file, header, names, ignore_value), file.lines[1:]
    else:
        names = class_names
        form = _Lists(file, header, names)
        lines = file.lines[1:] if form.has_header else file.lines
    rows = _read(file, lines, form)
    labels = np.frombuffer(b"".join(rows[name] for name in file.match(images, rows.keys())), np.uint8)
    labels = labels.reshape(len(images.files), len(names))
    if ignored := int(np.count_nonzero(labels == IGNORED)):
        print(f"note: {ignored} of {labels.size} labels are unknown and are not scored")
    return Labels(
        labels, len(names), names, len(rows) - len(labels), task="multilabel", ignore_index=IGNORED if ignored else None
    )


def _cells(file: LabelFile, number: int, line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True, strict=True))]
    except csv.Error as error:
        raise file.wrong(number, f"is no csv: {error}") from error


def _read(file: LabelFile, lines: Sequence[tuple[int, str]], form: _Form) -> dict[str, bytes]:
    """name -> a byte per class."""
    rows: dict[str, bytes] = {}
    for number, line in lines:
        cells = _cells(file, number, line)
        if len(cells) != form.width:
            hint = "; a list of labels stands in quotes" if isinstance(form, _Lists) else ", as the first line has"
            raise file.wrong(number, f"has {len(cells)} columns, expected {form.width}{hint}")
        if not cells[0]:
            raise file.wrong(number, "column 1 is empty, expected the name of an image")
        name, labels = str(PurePosixPath(cells[0])), form.labels(number, cells)
        if rows.setdefault(name, labels) != labels:
            raise file.wrong(number, f"'{name}' has other labels than in a line before; each image has one line")
    if not rows:
        raise DataError(f"label file '{file.path}' holds no image, only its first line")
    return rows


def unknown_value(text: str) -> str:
    """Of an option: what says that a label is unknown."""
    if text.lower() in _VALUES or _as_number(text) in (0, 1):
        raise argparse.ArgumentTypeError(f"'{text}' says whether an image has the label")
    return text


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class _Columns:
    """A column for each class, as in CheXpert: 0, 1, or what says that the label is unknown."""

    def __init__(self, file: LabelFile, header: list[str], names: list[str], ignore_value: str | None) -> None:
        self.width = len(header)
        self._file, self._header = file, header
        first = file.lines[0][0]
        if not names:
            raise file.wrong(first, "has 1 column, expected a header: the column of names, then one for each class")
        for name in names:
            count = header[1:].count(name)
            if not name or count != 1:
                raise file.wrong(first, f"has {count} columns that are called '{name}', expected names, each once")
        self._places = [header.index(name, 1) for name in names]
        self._meanings = _VALUES | ({} if ignore_value is None else {ignore_value.lower(): IGNORED})
        self._numbers = {_as_number(text): meaning for text, meaning in self._meanings.items()} | {-1.0: IGNORED}
        self._numbers.pop(None, None)

    def labels(self, number: int, cells: list[str]) -> bytes:
        return bytes([self._meaning(number, cells[place].lower(), place) for place in self._places])

    def _meaning(self, number: int, text: str, place: int) -> int:
        if text not in self._meanings:  # another way to write a number, such as 1.0
            meaning = self._numbers.get(_as_number(text))
            if meaning is None:
                raise self._file.wrong(
                    number,
                    f"column {place + 1} ('{self._header[place]}'): '{text}' is not 0 or 1, nor empty, -1 or --ignore-value; "
                    "where not all columns are classes, or they hold lists of names, give --class-names",
                )
            self._meanings[text] = meaning
        return self._meanings[text]


class _Lists:
    """In the second column the names of the classes that an image has, or their numbers, between blanks or | ; ,"""

    def __init__(self, file: LabelFile, header: list[str], names: list[str]) -> None:
        self._file = file
        self._known, self._num_classes = numbers_of(names), len(names)
        self.has_header = len(header) > 1 and any(self._number(item) is None for item in self._items(header[1]))
        self.width = len(header) if self.has_header else 2

    def labels(self, number: int, cells: list[str]) -> bytes:
        labels = bytearray(self._num_classes)
        for item in self._items(cells[1]):
            label = self._number(item)
            if label is None:
                expected = f"neither one of the {self._num_classes} names of --class-names nor their number"
                raise self._file.wrong(number, f"column 2: '{item}' is {expected}")
            labels[label] = 1
        return bytes(labels)

    def _items(self, text: str) -> list[str]:
        if text in self._known:
            return [text]
        parts = _SEPARATORS.split(text) if _SEPARATORS.search(text) else text.split()
        return [part.strip() for part in parts if part.strip()]

    def _number(self, item: str) -> int | None:
        if item.isdecimal() and int(item) < self._num_classes:
            return int(item)
        return self._known.get(item)
