# SPDX-License-Identifier: Apache-2.0
"""How the pixels of a data set were made of image files: attributes of /inputs/image (SCHEMA.md)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .fixed_text import fixed_text

Size = tuple[int, int]  # height, width


@dataclass(frozen=True)
class Geometry:
    """crop_mode: center, border or squash; recipe_source: whose recipe all of it is. What is not said is None."""

    resize: Size | None = None
    crop: Size | None = None
    crop_mode: str | None = None
    interpolation: str | None = None
    recipe_source: str | None = None

    def attributes(self) -> dict[str, Any]:
        """int64 [2] and strings of fixed length."""
        sizes = {"resize": self.resize, "crop": self.crop}
        words = {
            "crop_mode": self.crop_mode, "interpolation": self.interpolation, "recipe_source": self.recipe_source
        }  # fmt: skip
        found: dict[str, Any] = {name: np.array(size, np.int64) for name, size in sizes.items() if size is not None}
        return found | {name: fixed_text(word) for name, word in words.items() if word is not None}
