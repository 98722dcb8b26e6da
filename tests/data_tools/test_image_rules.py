# SPDX-License-Identifier: Apache-2.0
"""Pixels: resize, crop and channels against torchvision and Pillow, on images of odd sizes."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tally_data.decode import DecodeRule, decode
from tally_data.encoding import convert_channels
from tally_data.errors import BrokenImage
from tally_data.image_files import ImageFile
from timm.data import ImageDataset
from torchvision import datasets, transforms

MODES = {"bilinear": transforms.InterpolationMode.BILINEAR, "bicubic": transforms.InterpolationMode.BICUBIC}


def picture(width: int, height: int, seed: int = 0, mode: str = "RGB") -> Image.Image:
    """Smooth shapes and noise, so that a shift by one pixel shows."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = np.stack([np.sin(x / 7 + seed), np.cos(y / 5), np.sin((x + y) / 11)], -1) * 90 + 128
    noisy = np.clip(waves + generator.normal(0, 20, waves.shape), 0, 255).astype(np.uint8)
    return Image.fromarray(noisy).convert(mode)


def saved(folder: Path, image: Image.Image, name: str) -> ImageFile:
    path = folder / name
    image.save(path)
    return ImageFile(name, str(path), 0, path.stat().st_size)


@pytest.mark.parametrize("size", [(37, 53), (53, 37), (227, 227), (300, 301), (500, 333), (64, 64), (20, 90)])
@pytest.mark.parametrize(
    ("resize", "crop"), [(64, 56), (64, 63), (63, 64), (41, 60), (None, 33), (None, 32), (48, None)]
)
def test_resize_and_crop_equal_torchvision(
    tmp_path: Path, size: tuple[int, int], resize: int | None, crop: int | None
) -> None:
    file = saved(tmp_path, picture(*size), "a.jpg")
    for name, mode in MODES.items():
        steps = [transforms.Resize(resize, mode)] if resize else []
        steps += [transforms.CenterCrop(crop)] if crop else []
        with Image.open(tmp_path / "a.jpg") as image:
            expected = np.asarray(transforms.Compose(steps)(image.convert("RGB")))
        sides = [(side, side) if side else None for side in (resize, crop)]
        assert np.array_equal(decode(file, DecodeRule("RGB", *sides, name)), expected)


@pytest.mark.parametrize(
    ("mode", "name"), [("L", "a.jpg"), ("CMYK", "a.jpg"), ("RGBA", "a.png"), ("P", "a.png"), ("1", "a.png")]
)
def test_other_modes_are_converted(tmp_path: Path, mode: str, name: str) -> None:
    file = saved(tmp_path, picture(19, 23, mode=mode), name)
    with Image.open(tmp_path / name) as image:
        rgb, grey = np.asarray(image.convert("RGB")), np.asarray(image.convert("L"))
    assert np.array_equal(decode(file, DecodeRule("RGB", None, None)), rgb)
    assert np.array_equal(decode(file, DecodeRule("BGR", None, None)), rgb[..., ::-1])
    assert np.array_equal(decode(file, DecodeRule("L", None, None)), grey[..., None])


@pytest.mark.parametrize(("kind", "name"), [
    ("uint16", "a.png"), ("uint16", "a.tif"), ("int32", "a.tif"), (">u2", "a.tif"), ("float32", "a.tif"),
])  # fmt: skip
def test_more_than_8_bits_are_those_of_the_libraries(tmp_path: Path, kind: str, name: str) -> None:
    """Clipped, and that is told; nothing is told where all values lie in a byte."""
    (tmp_path / "0").mkdir()
    values = np.arange(64).reshape(8, 8).astype(kind)
    for factor, expected in ((1000, [name]), (4, [])):
        clipped: list[str] = []
        file = saved(tmp_path / "0", Image.fromarray(values * np.array(factor, kind)), name)
        pixels = decode(ImageFile(name, file.container, 0, file.size), DecodeRule("RGB"), clipped)
        assert clipped == expected
        assert np.array_equal(pixels, datasets.ImageFolder(tmp_path, transform=np.asarray)[0][0])
        if name.endswith(".png"):  # timm reads no TIFF of itself
            assert np.array_equal(pixels, ImageDataset(tmp_path, transform=np.asarray)[0][0])
        assert (pixels.reshape(-1)[3:] == 255).all() == (factor == 1000)


def test_damaged_images_are_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    picture(90, 90).save(buffer, "jpeg")
    for name, content in (("cut.jpg", buffer.getvalue()[:500]), ("text.jpg", b"hello"), ("empty.jpg", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BrokenImage, match=f"'{name}' cannot be decoded"):
            decode(ImageFile(name, str(tmp_path / name), 0, len(content)), DecodeRule("RGB", None, None))


def test_channel_conversion_equals_pillow() -> None:
    rgb = np.random.default_rng(3).integers(0, 256, (5, 31, 17, 3), np.uint8)
    grey = np.stack([np.asarray(Image.fromarray(image).convert("L")) for image in rgb])[..., None]
    assert np.array_equal(convert_channels(rgb, "RGB", "L"), grey)
    assert np.array_equal(convert_channels(rgb[..., ::-1], "BGR", "L"), grey)
    assert np.array_equal(convert_channels(rgb, "RGB", "BGR"), rgb[..., ::-1])
    assert np.array_equal(convert_channels(grey, "L", "RGB"), np.concatenate([grey] * 3, -1))
