# SPDX-License-Identifier: Apache-2.0
"""From an image file to pixels, with the libraries' rules for resizing and cropping. Runs in worker processes."""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, UnidentifiedImageError

from .decoded_images import BrokenImages, Decoded, decode_each
from .errors import BrokenImage, DataError
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
_DEEP_MODES = ("I", "F")  # and I;16, I;16B, ...: more than 8 bits, which Pillow clips


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


def open_image(file: ImageFile, mode: str, clipped: list[str] | None = None) -> Image.Image:
    """Converted to `mode`, L or RGB, as torchvision and timm do. `clipped` gets the file's name if values were lost."""
    content = file.read()
    try:
        with Image.open(io.BytesIO(content)) as image:
            converted = image.convert(mode)
            if clipped is not None and image.mode.startswith(_DEEP_MODES):
                if not np.array_equal(np.asarray(image), np.asarray(image.convert("L"))):
                    clipped.append(file.name)
            return converted
    except UnidentifiedImageError as error:
        raise BrokenImage(f"image '{file.name}' cannot be decoded: it is damaged or no image") from error
    except Exception as error:  # damaged files make Pillow's decoders raise nearly anything
        raise BrokenImage(f"image '{file.name}' cannot be decoded: {error}") from error


def pixels_of(image: Image.Image, channels: str) -> np.ndarray:
    """uint8 [H, W, C], of an image of mode L or RGB."""
    pixels = np.asarray(image, np.uint8)
    if channels == "L":
        return pixels[..., None]
    return pixels[..., ::-1] if channels == "BGR" else pixels


def decode(file: ImageFile, rule: DecodeRule, clipped: list[str] | None = None) -> np.ndarray:
    """uint8 [H, W, C]. Grey, palette, CMYK and other images are converted to the rule's channels."""
    image = open_image(file, "L" if rule.channels == "L" else "RGB", clipped)
    return prepare(image, rule)


def prepare(image: Image.Image, rule: DecodeRule) -> np.ndarray:
    """uint8 [H, W, C], of an image of mode L or RGB, as the rule's channels are."""
    if rule.resize is not None:
        image = resize(image, rule)
    if rule.crop is not None:
        image = crop_center(image, rule)
    return pixels_of(image, rule.channels)


@dataclass(frozen=True)
class Shape:
    """height, width and channels that all pixels must have; image: whose these are."""

    pixels: tuple[int, int, int]
    image: str

    @property
    def size(self) -> Size:
        return self.pixels[:2]


def decode_chunk(files: list[ImageFile], rule: DecodeRule, shape: Shape) -> Decoded:
    def decoded(file: ImageFile, clipped: list[str]) -> np.ndarray:
        pixels = decode(file, rule, clipped)
        if pixels.shape != shape.pixels:
            found, expected = (f"{height}x{width}" for height, width, _ in (pixels.shape, shape.pixels))
            missing = "--crop as well" if rule.resize else "--resize and --crop"
            raise DataError(
                f"image '{file.name}' is {found} (height x width), '{shape.image}' is {expected}; "
                f"all must have one size: give {missing}"
            )
        return pixels

    return decode_each(files, shape.pixels, decoded)


def first_shape(files: list[ImageFile], rule: DecodeRule) -> Shape:
    """Of the first image that can be decoded. Raises BrokenImages if none can."""
    broken = []
    for place, file in enumerate(files):
        try:
            height, width, channels = decode(file, rule).shape
            return Shape((height, width, channels), file.name)
        except BrokenImage as error:
            broken.append((place, str(error)))
    raise BrokenImages(broken, len(files))
