# SPDX-License-Identifier: Apache-2.0
"""Labels of ImageNet's validation images as its development kit has them (ILSVRC2012_devkit_t12)."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from .errors import DataError, reading
from .image_files import ImageFiles
from .labels import Labels

TRUTH, META = "data/ILSVRC2012_validation_ground_truth.txt", "data/meta.mat"
_NUMBER = re.compile(r"^ILSVRC2012_val_(\d{8})$")  # 00000001 has the first line


def labels_from_devkit(images: ImageFiles, folder: Path) -> Labels:
    """Class k is the k-th synset in ascending order, as everywhere but in the kit. Raises DataError for a damaged kit."""
    if not (folder / META).is_file():
        raise DataError(f"'{folder}' is no development kit of ImageNet: it has no {META}")
    ids, names = _classes(folder / META)
    numbers = {number: label for label, number in enumerate(ids)}
    truth = _truth(folder / TRUTH)
    labels = []
    for line in validation_numbers(images, len(truth), folder / TRUTH):
        if truth[line - 1] not in numbers:
            raise DataError(f"'{folder / TRUTH}', line {line}: {truth[line - 1]} is no class of '{folder / META}'")
        labels.append(numbers[truth[line - 1]])
    return Labels(np.array(labels, np.int64), len(names), names, len(truth) - len(labels))


def validation_numbers(images: ImageFiles, count: int, source: Path) -> list[int]:
    """Which image of ImageNet's validation set each one is, from 1 to `count`; source: the file that has as many."""
    used: dict[int, str] = {}
    for file in images.files:
        match = _NUMBER.search(PurePosixPath(file.name).stem)
        number = int(match[1]) if match else 0
        if not 1 <= number <= count:
            raise DataError(
                f"image '{file.name}' is none of the {count} of '{source}', which are called as ILSVRC2012_val_00000001"
            )
        if used.setdefault(number, file.name) != file.name:
            raise DataError(f"'{used[number]}' and '{file.name}' are the same image of ImageNet")
    return list(used)


def _truth(path: Path) -> list[int]:
    with reading(path):
        words = path.read_text(encoding="ascii", errors="replace").split()
    if not words or not all(word.isdecimal() for word in words):
        raise DataError(f"'{path}' is no list of numbers of classes")
    return [int(word) for word in words]


def _classes(path: Path) -> tuple[list[int], list[str]]:
    """The kit's numbers of the classes and their names, "n01440764 tench, Tinca tinca", by synset."""
    from scipy.io import loadmat  # comes with scikit-learn

    try:
        with reading(path):
            synsets: Any = loadmat(str(path), squeeze_me=True)["synsets"]
        found = [
            (str(one["WNID"]), str(one["words"]), int(one["ILSVRC2012_ID"]))
            for one in np.atleast_1d(synsets) if int(one["num_children"]) == 0
        ]  # fmt: skip
    except DataError:
        raise
    except Exception as error:  # a damaged file makes the reader raise nearly anything
        raise DataError(f"'{path}' does not list ImageNet's synsets: {error!r}") from error
    found.sort()
    return [number for _, _, number in found], [f"{synset} {words}" for synset, words, _ in found]
