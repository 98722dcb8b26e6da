# SPDX-License-Identifier: Apache-2.0
"""Values of samples, images and arrays of any library, as what a data set file stores."""

import io
from typing import Any

import numpy as np
from PIL import Image

from .errors import DataError

_EXACT = {"bool": "uint8", "float16": "float32", "uint16": "int32", "uint32": "int64"}  # stored without rounding
_STORED = ("uint8", "int8", "int16", "int32", "int64", "float32", "float64")
_CHANNELS = (1, 3)


def to_array(value: Any, what: str, rounds: bool) -> np.ndarray:
    """Numbers, arrays and tensors as an array of a type that can be stored.

    Python's own numbers have no width: a float becomes float32, an int int64. Arrays of float64 are taken as float32 if
    `rounds`, and refused otherwise. what: names the value in messages.
    """
    if value is None:
        raise DataError(f"{what} has no value")
    is_python = isinstance(value, bool | int | float | list | tuple) and not isinstance(value, np.generic)
    array = _plain_array(value, what)
    if array.dtype == np.float64 and (is_python or rounds):
        return array.astype(np.float32)
    if array.dtype == np.float64:
        raise DataError(
            f"{what} is float64, which most models do not take: let the dataset give float32, or give --float32 to round"
        )
    name = _EXACT.get(array.dtype.name, array.dtype.name)
    if name not in _STORED:
        kind = f"an array of {array.dtype.name}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise DataError(f"{what} is {kind}, expected numbers, an array, a tensor or an image")
    return array.astype(name, copy=False)


def _plain_array(value: Any, what: str) -> np.ndarray:
    if hasattr(value, "detach"):  # a tensor of torch
        value = value.detach().cpu()
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    try:
        return np.asarray(value)
    except (ValueError, OverflowError) as error:  # lists of different lengths, numbers above 64 bits
        raise DataError(f"{what} is no array: {error}") from error


def is_image(value: Any, is_only_input: bool) -> bool:
    """Pillow's images and encoded ones; uint8 [H, W, C], of torch also [C, H, W]; and, for an only input, [H, W]."""
    if isinstance(value, Image.Image | bytes):
        return True
    if str(getattr(value, "dtype", "")).removeprefix("torch.") != "uint8":
        return False
    if len(value.shape) == 3:
        return value.shape[2] in _CHANNELS or (hasattr(value, "detach") and value.shape[0] in _CHANNELS)
    return len(value.shape) == 2 and is_only_input


def as_image(value: Any, what: str) -> Image.Image:
    """An image as is_image describes them. A tensor whose first and last sizes might both be channels is [C, H, W]."""
    if isinstance(value, Image.Image | bytes):
        return _decoded(value, what)
    array = to_array(value, what, rounds=False)
    if array.dtype != np.uint8 or array.ndim not in (2, 3):
        raise DataError(f"{what} is {array.dtype.name} {list(array.shape)}, the first item's is an image: uint8 [H, W, C]")
    if hasattr(value, "detach") and array.ndim == 3 and array.shape[0] in _CHANNELS:
        array = array.transpose(1, 2, 0)
    if array.ndim == 3 and array.shape[2] not in _CHANNELS:
        raise DataError(f"{what} is uint8 {list(array.shape)}, expected 1 or 3 channels: [H, W, C]")
    return Image.fromarray(np.ascontiguousarray(array[..., 0] if array.shape[2:] == (1,) else array))


def _decoded(value: Image.Image | bytes, what: str) -> Image.Image:
    """Image.open() alone reads no pixels: what a dataset gives may still be a file that is cut off."""
    try:
        image = Image.open(io.BytesIO(value)) if isinstance(value, bytes) else value
        image.load()
    except Exception as error:  # damaged files make Pillow's decoders raise nearly anything
        raise DataError(f"{what} cannot be decoded: it is damaged or no image ({type(error).__name__})") from error
    return image


def mask_array(value: Any, what: str) -> np.ndarray:
    """Of a segmentation's target, which may be an image whose values are classes."""
    if isinstance(value, Image.Image | bytes):
        value = np.asarray(_decoded(value, what))
    array = to_array(value, what, rounds=False)
    if array.ndim != 2 or array.dtype.kind not in "iu":
        raise DataError(f"{what} is {array.dtype.name} {list(array.shape)}, expected the classes of pixels: integers [H, W]")
    return array
