# SPDX-License-Identifier: Apache-2.0
"""From a stream of image batches to a data set file: what all prepare tools end with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .column import Column
from .encoding import ImageEncoding, convert_channels
from .geometry import Geometry
from .progress import progress_bar
from .schema import find_task
from .shards import describe_files, open_set
from .text_column import printable
from .writer import DataSetWriter

Batch = tuple[np.ndarray, np.ndarray]  # images uint8 [n, H, W, C], labels as the task has them


@dataclass(frozen=True)
class ImageSet:
    """Labelled images of one size, in batches of any length.

    class_order: by which rule folders became classes; file_names: of the images, in order, where they have any.
    label_sets: all right classes of each image, written in place of the batches' labels.
    """

    num_samples: int
    height: int
    width: int
    channels: str  # order of the batches' channels
    num_classes: int
    class_names: Sequence[str] | None
    batches: Iterable[Batch]
    class_order: str | None = None
    geometry: Geometry | None = None
    file_names: Sequence[str] | None = None
    task: str = "multiclass"
    ignore_index: int | None = None
    label_sets: Sequence[np.ndarray] | None = None


def array_batches(images: np.ndarray, labels: np.ndarray, rows: int = 1024) -> Iterable[Batch]:
    """Slices of whole arrays."""
    for first in range(0, len(images), rows):
        yield images[first : first + rows], labels[first : first + rows]


def write_image_set(
    source: ImageSet, output: Path, overwrite: bool, encoding: ImageEncoding, shards: int | None = None
) -> None:
    """Writes the set with a progress bar and prints one line on what was written. shards: None for one file."""

    def declare(out: DataSetWriter, part: slice) -> list[Column]:
        if source.class_order is not None:
            out.set_attribute("class_order", source.class_order)
        columns = [out.add_image(height=source.height, width=source.width, encoding=encoding, geometry=source.geometry)]
        if source.label_sets is None:
            columns.append(out.add_target("label"))
        else:
            out.add_label_sets(source.label_sets[part])
        if source.file_names is not None:
            out.add_names(map(printable, source.file_names[part]))
        return columns

    with (
        open_set(
            output, shards, source.num_samples, declare, overwrite=overwrite, task=source.task,
            num_classes=source.num_classes, class_names=source.class_names, ignore_index=source.ignore_index,
        ) as out,
        progress_bar(source.num_samples, "image", output.name) as bar,
    ):  # fmt: skip
        for images, labels in source.batches:
            pixels = convert_channels(images, source.channels, encoding.channels)
            out.append(*((pixels, labels) if source.label_sets is None else (pixels,)))
            bar.update(len(labels))
    shape = f"{source.height}x{source.width} {encoding.channels}"
    counted = f"{source.num_classes} {find_task(source.task).counted}"
    files = describe_files(output, shards)
    print(f"wrote {output}: {source.num_samples} images {shape}, {counted}, {files}")
