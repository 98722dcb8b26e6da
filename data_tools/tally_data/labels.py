# SPDX-License-Identifier: Apache-2.0
"""Which label an image file has: from a label file, or from its folder."""

import csv
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from .class_order import ClassOrder, synsets_of
from .errors import DataError
from .image_files import ImageFiles
from .label_file import LabelFile

_NAMES_NEEDED = "; labels that are names need --class-names (of Kaggle's: LOC_synset_mapping.txt)"
_WORDS_OF_A_BOX = 5  # a synset and four numbers


@dataclass(frozen=True)
class Labels:
    """labels: of each image file, in order: int64 [N], or uint8 [N, C] of the task multilabel.

    label_sets: of each image all right classes, where there may be several: int64 [n]; `labels` has the first of each.
    num_unused: lines of the label file without an image. class_order: the rule by which folders became classes, where they did.
    """

    labels: np.ndarray
    num_classes: int
    class_names: list[str] | None
    num_unused: int
    class_order: str | None = None
    task: str = "multiclass"
    ignore_index: int | None = None
    label_sets: list[np.ndarray] | None = None

    def without(self, places: Collection[int]) -> "Labels":
        """Of the images but those at these places."""
        kept = [place for place in range(len(self.labels)) if place not in places]
        sets = None if self.label_sets is None else [self.label_sets[place] for place in kept]
        return replace(self, labels=self.labels[kept], label_sets=sets)


def _split(line: str) -> list[str]:
    """`name, label` or csv where there is a comma; else `name label`, where the name may hold blanks."""
    if "," in line:
        return [part.strip() for part in next(csv.reader([line], skipinitialspace=True))]
    return line.rsplit(maxsplit=1)


def read_labels(file: LabelFile, class_names: list[str]) -> dict[str, int]:
    """name -> label. Labels are numbers or of `class_names`; a first line whose label is neither is a header."""
    known = numbers_of(class_names)
    table: dict[str, int] = {}
    for number, line in file.lines:
        parts = _split(line)
        label = _label_of(parts[1], known) if len(parts) == 2 else None
        if label is not None:
            name = str(PurePosixPath(parts[0]))
            if table.setdefault(name, label) != label:
                raise file.wrong(number, f"'{name}' has the labels {table[name]} and {label}")
        elif number > 1 or len(parts) != 2:
            raise file.wrong(
                number,
                f"'{line}' is not a name and a label of 0 or more"
                + (", or a class name" if known else _NAMES_NEEDED),
            )
    if not table:
        raise DataError(f"label file '{file.path}' holds no label")
    return table


def _label_of(text: str, known: dict[str, int]) -> int | None:
    """A number, a name, or Kaggle's boxes of one class: `n01751748 111 108 230 366 n01751748 …`; None for anything else."""
    if text.isdecimal():
        return int(text)
    if text in known:
        return known[text]
    words = text.split()
    names = set(words[::_WORDS_OF_A_BOX])
    if len(words) % _WORDS_OF_A_BOX or len(names) != 1 or not names <= known.keys():
        return None
    return known[words[0]]


def numbers_of(class_names: list[str]) -> dict[str, int]:
    """Of the names that stand for one class only, and that are no numbers themselves; of ImageNet's also the synsets."""
    counts = Counter(class_names)
    known = {
        name: number for number, name in enumerate(class_names) if counts[name] == 1 and not name.isdecimal()
    }
    return {synset: number for number, synset in enumerate(synsets_of(class_names))} | known


def labels_from_file(images: ImageFiles, path: Path, class_names: list[str] | None) -> Labels:
    """class_names: of class 0, 1, …. Raises DataError for an image without a label, and a name that fits two images."""
    file = LabelFile(path)
    table = read_labels(file, class_names or [])
    labels = np.array([table[name] for name in file.match(images, table.keys())], np.int64)
    return Labels(labels, max(table.values()) + 1, class_names, len(table) - len(labels))


def labels_from_folders(images: ImageFiles, order: ClassOrder) -> Labels:
    """The class of an image is its top folder."""
    index = {folder: number for number, folder in enumerate(order.folders)}
    labels = []
    for file in images.files:
        top, slash, _ = file.name.partition("/")
        if not slash:
            raise DataError(
                f"image '{file.name}' has no label: give --labels, or put it into a folder of its class"
            )
        labels.append(index[top])
    return Labels(np.array(labels, np.int64), len(index), order.names, 0, order.rule)
