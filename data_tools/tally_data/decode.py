# SPDX-License-Identifier: Apache-2.0
"""From an image file to pixels, with torchvision's rules for resizing and cropping. Runs in worker processes."""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, UnidentifiedImageError

from .errors import DataError
from .geometry import Geometry
from .image_files import ImageFile

FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
_DEEP_MODES = ("I", "F")  # and I;16, I;16B, ...: more than 8 bits, which Pillow would clip


@dataclass(frozen=True)
class DecodeRule:
    """channels: RGB, BGR or L; resize, crop: pixels or None; interpolation: a key of FILTERS."""

    channels: str
    resize: int | None
    crop: int | None
    interpolation: str = "bilinear"

    @property
    def geometry(self) -> Geometry | None:
        """None where the images are stored as they are."""
        if self.resize is None and self.crop is None:
            return None
        resize, crop = ((side, side) if side else None for side in (self.resize, self.crop))
        return Geometry(resize, crop, "center", self.interpolation if resize else None)


def resize_shorter_side(image: Image.Image, size: int, interpolation: str) -> Image.Image:
    """torchvision.transforms.Resize(size): the longer side is cut to a whole number, not rounded."""
    width, height = image.size
    if min(width, height) == size:
        return image
    if width <= height:
        target = (size, int(size * height / width))
    else:
        target = (int(size * width / height), size)
    return image.resize(target, FILTERS[interpolation])


def crop_center(image: Image.Image, size: int) -> Image.Image:
    """torchvision.transforms.CenterCrop(size): what sticks out of a smaller image is black."""
    width, height = image.size
    left, top = _margin(width, size), _margin(height, size)
    return image.crop((left, top, left + size, top + size))


def _margin(length: int, size: int) -> int:
    if length < size:
        return -((size - length) // 2)
    return round((length - size) / 2)


def open_image(file: ImageFile, mode: str) -> Image.Image:
    """Converted to `mode`, L or RGB."""
    try:
        with Image.open(io.BytesIO(file.read())) as image:
            if image.mode.startswith(_DEEP_MODES):
                raise DataError(f"image '{file.name}' has more than 8 bits per channel (mode {image.mode})")
            return image.convert(mode)
    except DataError:
        raise
    except UnidentifiedImageError as error:
        raise DataError(f"image '{file.name}' cannot be decoded: it is damaged or no image; remove or replace it") from error
    except Exception as error:  # damaged files make Pillow's decoders raise nearly anything
        raise DataError(f"image '{file.name}' cannot be decoded: {error}") from error


def pixels_of(image: Image.Image, channels: str) -> np.ndarray:
    """uint8 [H, W, C], of an image of mode L or RGB."""
    pixels = np.asarray(image, np.uint8)
    if channels == "L":
        return pixels[..., None]
    return pixels[..., ::-1] if channels == "BGR" else pixels


def decode(file: ImageFile, rule: DecodeRule) -> np.ndarray:
    """uint8 [H, W, C]. Grey, palette, CMYK and other images are converted to the rule's channels."""
    image = open_image(file, "L" if rule.channels == "L" else "RGB")
    if rule.resize is not None:
        image = resize_shorter_side(image, rule.resize, rule.interpolation)
    if rule.crop is not None:
        image = crop_center(image, rule.crop)
    return pixels_of(image, rule.channels)


def decode_chunk(files: list[ImageFile], rule: DecodeRule, first: str, shape: tuple[int, ...]) -> np.ndarray:
    """uint8 [n, H, W, C]; all must have the `shape` of the image `first`."""
    images = np.empty((len(files), *shape), np.uint8)
    for row, file in enumerate(files):
        pixels = decode(file, rule)
        if pixels.shape != shape:
            found, expected = (f"{height}x{width}" for height, width, _ in (pixels.shape, shape))
            raise DataError(
                f"image '{file.name}' is {found} (height x width), '{first}' is {expected}; "
                "all must have one size: give --resize and --crop"
            )
        images[row] = pixels
    return images
