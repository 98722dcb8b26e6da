# SPDX-License-Identifier: Apache-2.0
"""Fits images of any size into one, and says where their points were. Runs in worker processes."""

from dataclasses import dataclass

import numpy as np

from .coco import CocoImage
from .decode import FILTERS, open_image, pixels_of
from .decoded_images import Decoded, decode_each
from .encoding import CHANNEL_ORDERS
from .errors import DataError
from .image_files import ImageFile

Placement = tuple[float, float, float, float]  # scale_x, scale_y, offset_x, offset_y
AS_IT_IS: Placement = (1.0, 1.0, 0.0, 0.0)
FITS = ("pad", "stretch")


@dataclass(frozen=True)
class FitRule:
    """channels: RGB, BGR or L; fit: of FITS; pad: of each of those channels, 0 to 255."""

    channels: str
    height: int
    width: int
    fit: str
    pad: tuple[int, ...]
    interpolation: str = "bilinear"

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Width and height that an image has in the fitted one."""
        if self.fit == "stretch":
            return self.width, self.height
        scale = min(self.width / width, self.height / height)
        return (
            min(self.width, max(1, round(width * scale))),
            min(self.height, max(1, round(height * scale))),
        )

    def placement(self, width: int, height: int) -> Placement:
        """From pixels of the fitted image to those of one of this size."""
        own_width, own_height = self.size(width, height)
        return width / own_width, height / own_height, 0.0, 0.0


def fit(file: ImageFile, image: CocoImage, rule: FitRule, clipped: list[str]) -> np.ndarray:
    """uint8 [height, width, C]. Raises DataError if the file has another size than the image."""
    opened = open_image(file, "L" if rule.channels == "L" else "RGB", clipped)
    if opened.size != (image.width, image.height):
        raise DataError(
            f"image '{file.name}' is {opened.height}x{opened.width} (height x width), "
            f"{image.place} says {image.height}x{image.width}"
        )
    size = rule.size(*opened.size)
    if size != opened.size:
        opened = opened.resize(size, FILTERS[rule.interpolation])
    pixels = pixels_of(opened, rule.channels)
    fitted = np.empty((rule.height, rule.width, pixels.shape[2]), np.uint8)
    fitted[:] = rule.pad
    fitted[: size[1], : size[0]] = pixels
    return fitted


def fit_chunk(wanted: list[tuple[ImageFile, CocoImage]], rule: FitRule) -> Decoded:
    """Of pixels [n, height, width, C]"""
    shape = (rule.height, rule.width, CHANNEL_ORDERS[rule.channels])
    return decode_each(wanted, shape, lambda pair, clipped: fit(*pair, rule, clipped))
