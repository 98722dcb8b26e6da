# SPDX-License-Identifier: Apache-2.0
"""A small file in COCO's form, with images that fit it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

SIZES = {30: (40, 30), 7: (25, 50), 12: (64, 64)}  # image id -> width, height


def annotations() -> dict[str, Any]:
    """Neither images, categories nor annotations are in the order of their ids; image 12 has no object."""
    return {
        "info": {"description": "small"},
        "images": [
            {"id": identity, "file_name": f"{identity:012d}.png", "width": width, "height": height}
            for identity, (width, height) in SIZES.items()
        ],
        "categories": [{"id": 44, "name": "owl"}, {"id": 3, "name": "cat"}, {"id": 90, "name": "dog é"}],
        "annotations": [
            {"id": 5, "image_id": 30, "category_id": 90, "bbox": [1.25, 2, 10, 20.5], "area": 100.5, "iscrowd": 0},
            {"id": 2, "image_id": 7, "category_id": 3, "bbox": [0, 0, 25, 50], "iscrowd": 1, "area": 7},
            {"id": 9, "image_id": 30, "category_id": 3, "bbox": [3, 4, 5, 6], "ignore": 1},
            {"id": 1, "image_id": 30, "category_id": 44, "bbox": [-1, 0, 0, 0], "area": 0, "segmentation": []},
        ],
    }


def write_coco(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def write_images(folder: Path) -> dict[int, np.ndarray]:
    """Noise, by image id: uint8 [H, W, 3]."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for identity, (width, height) in SIZES.items():
        made[identity] = np.random.default_rng(identity).integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(made[identity]).save(folder / f"{identity:012d}.png")
    return made
