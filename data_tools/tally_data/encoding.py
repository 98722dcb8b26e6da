# SPDX-License-Identifier: Apache-2.0
"""How image bytes are stored and what the model makes of them: (u8 * scale - mean) / std."""

import math
from dataclasses import dataclass, replace

import numpy as np

from .errors import UsageError

CHANNEL_ORDERS = {"RGB": 3, "BGR": 3, "L": 1}


@dataclass(frozen=True)
class ImageEncoding:
    """channels: RGB, BGR or L (grey); mean and std: one value per channel, in that order."""

    channels: str
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.channels not in CHANNEL_ORDERS:
            raise UsageError(f"channels is '{self.channels}', expected {', '.join(CHANNEL_ORDERS)}")
        for name in ("mean", "std"):
            values = tuple(float(value) for value in getattr(self, name))
            object.__setattr__(self, name, values)
            if len(values) != self.num_channels:
                raise UsageError(
                    f"{name} has {len(values)} values, channels {self.channels} needs {self.num_channels}"
                )
            if not all(map(math.isfinite, values)):
                raise UsageError(f"{name} has a value that is not finite")
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise UsageError(f"scale is {self.scale}, expected a finite number above 0")
        if min(self.std) <= 0:
            raise UsageError(f"std has the value {min(self.std)}, expected numbers above 0")

    @property
    def num_channels(self) -> int:
        return CHANNEL_ORDERS[self.channels]

    def with_channels(self, channels: str) -> "ImageEncoding":
        """The same recipe for another stored order."""
        if channels == self.channels:
            return self
        if self.channels == "L" and CHANNEL_ORDERS.get(channels) == 3:
            return ImageEncoding(channels, self.scale, self.mean * 3, self.std * 3)
        if {channels, self.channels} == {"RGB", "BGR"}:
            return replace(self, channels=channels, mean=self.mean[::-1], std=self.std[::-1])
        raise UsageError(
            f"there is no default mean and std for channels {channels} here: give --mean and --std"
        )


IMAGENET = ImageEncoding("RGB", 1 / 255, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def convert_channels(images: np.ndarray, source: str, target: str) -> np.ndarray:
    """images: uint8 [N, H, W, C] in the order `source`; returns them in the order `target`."""
    if source == target:
        return images
    if source == "L":
        return np.repeat(images, 3, axis=-1)
    if target == "L":
        red_first = images if source == "RGB" else images[..., ::-1]
        # ITU-R 601-2 luma in 16-bit fixed point, as Pillow's convert("L").
        luma = red_first.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32) + 0x8000
        return (luma >> 16).astype(np.uint8)[..., None]
    return images[..., ::-1]
