# SPDX-License-Identifier: Apache-2.0
"""Writes the data set file of objects in images: SCHEMA.md, detection."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .coco import Coco
from .encoding import ImageEncoding
from .letterbox import AS_IT_IS, FitRule
from .progress import progress_bar
from .set_file import SetFile
from .text_column import NAMES, printable


@dataclass(frozen=True)
class Pixels:
    """batches: uint8 [n, height, width, C] each, of all images in order."""

    rule: FitRule
    encoding: ImageEncoding
    batches: Iterable[np.ndarray]


def write_detection_set(coco: Coco, pixels: Pixels | None, output: Path, overwrite: bool) -> None:
    """Without pixels the input is `index`, the number of the sample."""
    num_images = len(coco.images)
    with SetFile(output, overwrite=overwrite) as file, progress_bar(num_images, "image", output.name) as bar:
        file.set_attribute("task", "detection")
        file.set_attribute("num_classes", len(coco.categories))
        file.add_class_names([category.name for category in coco.categories])
        _add_images(file, coco, pixels)
        _add_objects(file, coco)
        if pixels is None:
            file.add_column("/inputs/index", "int64", num_images).append(np.arange(num_images))
            bar.update(num_images)
            return
        rule = pixels.rule
        image = file.add_image_column("/inputs/image", num_images, rule.height, rule.width, pixels.encoding)
        for batch in pixels.batches:
            image.append(batch)
            bar.update(len(batch))


def _add_images(file: SetFile, coco: Coco, pixels: Pixels | None) -> None:
    placements = [
        pixels.rule.placement(image.width, image.height) if pixels else AS_IT_IS for image in coco.images
    ]
    if all(image.name for image in coco.images):
        file.add_text_column(NAMES, len(coco.images)).append(printable(image.name) for image in coco.images)
    identities = np.array([image.identity for image in coco.images], np.int64)
    file.add_column("/images/id", "int64", len(identities)).append(identities)
    file.add_column("/images/placement", "float64", len(placements), (4,)).append(placements)
    classes = np.array([category.identity for category in coco.categories], np.int64)
    file.add_column("/classes/id", "int64", len(classes)).append(classes)


def _add_objects(file: SetFile, coco: Coco) -> None:
    objects = [found for of_image in coco.objects for found in of_image]
    offsets = np.cumsum([0, *map(len, coco.objects)], dtype=np.int64)
    boxes = np.array([found.box for found in objects], np.float64).reshape(-1, 4)
    labels = np.array([found.label for found in objects], np.int32)
    crowds = np.array([found.crowd for found in objects], np.uint8)
    areas = np.array([found.area for found in objects], np.float64)
    file.add_column("/objects/offsets", "int64", len(offsets)).append(offsets)
    file.add_column("/objects/box", "float64", len(objects), (4,)).append(boxes)
    file.add_column("/objects/label", "int32", len(objects)).append(labels)
    file.add_column("/objects/crowd", "uint8", len(objects)).append(crowds)
    file.add_column("/objects/area", "float64", len(objects)).append(areas)
