# SPDX-License-Identifier: Apache-2.0
"""From an image file to pixels, with the libraries' rules for resizing and cropping. Runs in worker processes."""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, UnidentifiedImageError

from .errors import DataError
from .geometry import Geometry, Size
from .image_files import ImageFile

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "nearest-exact": Image.Resampling.NEAREST,  # torchvision's two are one for images of Pillow
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
CROP_MODES = ("center", "border", "squash")
_DEEP_MODES = ("I", "F")  # and I;16, I;16B, ...: more than 8 bits, which Pillow would clip


@dataclass(frozen=True)
class DecodeRule:
    """channels: RGB, BGR or L; resize, crop, crop_mode: as Geometry has them; interpolation: a key of FILTERS.

    fill: what stands beyond the edges of a smaller image, a byte for each channel of RGB or L. crops_down: whether an
    odd margin is halved downwards, as transformers does, or to the nearest even number, as torchvision and timm do.
    recipe_source: as Geometry has it.
    """

    channels: str
    resize: Size | None = None
    crop: Size | None = None
    interpolation: str = "bilinear"
    crop_mode: str = "center"
    fill: tuple[int, ...] = ()
    crops_down: bool = False
    recipe_source: str | None = None

    @property
    def geometry(self) -> Geometry | None:
        """None where the images are stored as they are."""
        if self.resize is None and self.crop is None:
            return None
        interpolation = self.interpolation if self.resize else None
        return Geometry(self.resize, self.crop, self.crop_mode, interpolation, self.recipe_source)


def resized_size(found: Size, rule: DecodeRule) -> Size:
    """Height and width that an image of the size `found` is resized to."""
    assert rule.resize is not None
    if rule.crop_mode == "squash":
        return rule.resize
    height, width = found
    if rule.crop_mode == "center" and rule.resize[0] == rule.resize[1]:
        # torchvision.transforms.Resize(N): the longer side is cut to a whole number, not rounded.
        side = rule.resize[0]
        return (int(side * height / width), side) if width <= height else (side, int(side * width / height))
    # timm.data.transforms.ResizeKeepRatio, of which `border` fits the longer side into `resize`.
    ratios = height / rule.resize[0], width / rule.resize[1]
    ratio = max(ratios) if rule.crop_mode == "border" else min(ratios)
    return round(height / ratio), round(width / ratio)


def resize(image: Image.Image, rule: DecodeRule) -> Image.Image:
    height, width = resized_size((image.height, image.width), rule)
    if image.size == (width, height):
        return image
    return image.resize((width, height), FILTERS[rule.interpolation])


def crop_center(image: Image.Image, rule: DecodeRule) -> Image.Image:
    """The middle; what sticks out of a smaller image is `fill`, or black."""
    assert rule.crop is not None
    height, width = rule.crop
    left, top = (_margin(found, wanted, rule.crops_down) for found, wanted in ((image.width, width), (image.height, height)))
    if not rule.fill:
        return image.crop((left, top, left + width, top + height))
    filled = Image.new(image.mode, (width, height), rule.fill if len(rule.fill) > 1 else rule.fill[0])
    filled.paste(image, (-left, -top))
    return filled


def _margin(length: int, size: int, down: bool) -> int:
    if length < size:
        return -((size - length + 1) // 2) if down else -((size - length) // 2)
    return (length - size) // 2 if down else round((length - size) / 2)


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
        image = resize(image, rule)
    if rule.crop is not None:
        image = crop_center(image, rule)
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
