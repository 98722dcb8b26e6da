# SPDX-License-Identifier: Apache-2.0
"""Reassessed labels of ImageNet's validation images, "ReaL": Beyer et al., Are we done with ImageNet?, arXiv:2006.07159."""

from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError
from .image_files import ImageFiles
from .imagenet_devkit import validation_numbers
from .json_form import parse_json
from .labels import Labels

NONE_RIGHT = -1  # no class was found right: the image is not scored


def labels_from_real(images: ImageFiles, path: Path, class_names: list[str] | None) -> Labels:
    """path: real.json of the authors, a list of the right classes of ILSVRC2012_val_00000001, 00000002, …"""
    rows = parse_json(path)
    if not isinstance(rows, list) or not rows:
        raise DataError(f"'{path}' is not in ReaL's form: expected a list of lists of classes")
    for place, row in enumerate(rows):
        _check_row(path, place, row)
    used = [rows[number - 1] for number in validation_numbers(images, len(rows), path)]
    labels = np.array([row[0] if row else NONE_RIGHT for row in used], np.int64)
    num_classes = max((max(row) for row in rows if row), default=0) + 1
    return Labels(
        labels, num_classes, class_names, len(rows) - len(used), ignore_index=NONE_RIGHT,
        label_sets=[np.array(row, np.int64) for row in used],
    )  # fmt: skip


def _check_row(path: Path, place: int, row: Any) -> None:
    is_classes = isinstance(row, list) and all(type(label) is int and 0 <= label < 2**31 for label in row)
    if not is_classes or len(set(row)) != len(row):
        raise DataError(f"'{path}' is not in ReaL's form: [{place}] is not a list of different classes of 0 or more")
