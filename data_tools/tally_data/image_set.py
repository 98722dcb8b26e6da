# SPDX-License-Identifier: Apache-2.0
"""From a stream of image batches to a data set file: what all prepare tools end with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .encoding import ImageEncoding, convert_channels
from .geometry import Geometry
from .progress import progress_bar
from .schema import find_task
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
    file_names: Iterable[str] | None = None
    task: str = "multiclass"
    ignore_index: int | None = None
    label_sets: Sequence[np.ndarray] | None = None


def array_batches(images: np.ndarray, labels: np.ndarray, rows: int = 1024) -> Iterable[Batch]:
    """Slices of whole arrays."""
    for first in range(0, len(images), rows):
        yield images[first : first + rows], labels[first : first + rows]


def write_image_set(source: ImageSet, output: Path, overwrite: bool, encoding: ImageEncoding) -> None:
    """Writes the set with a progress bar and prints one line on what was written."""
    with (
        DataSetWriter(
            output,
            task=source.task,
            num_classes=source.num_classes,
            num_samples=source.num_samples,
            class_names=source.class_names,
            ignore_index=source.ignore_index,
            overwrite=overwrite,
        ) as out,
        progress_bar(source.num_samples, "image", output.name) as bar,
    ):
        if source.class_order is not None:
            out.set_attribute("class_order", source.class_order)
        image = out.add_image(height=source.height, width=source.width, encoding=encoding, geometry=source.geometry)
        label = None
        if source.label_sets is None:
            label = out.add_target("label")
        else:
            out.add_label_sets(source.label_sets)
        if source.file_names is not None:
            out.add_names(map(printable, source.file_names))
        for images, labels in source.batches:
            image.append(convert_channels(images, source.channels, encoding.channels))
            if label is not None:
                label.append(labels)
            bar.update(len(labels))
    shape = f"{source.height}x{source.width} {encoding.channels}"
    size = output.stat().st_size / 1e6
    counted = f"{source.num_classes} {find_task(source.task).counted}"
    print(f"wrote {output}: {source.num_samples} images {shape}, {counted}, {size:.1f} MB")
