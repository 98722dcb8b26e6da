# SPDX-License-Identifier: Apache-2.0
"""publish.json: what of a folder has been published, for each target and place; written atomically."""

import json
from pathlib import Path
from typing import Any

from tally_data.atomic import atomic_path

from .tail_jsonl import read_object

NAME = "publish.json"


def read_position(folder: Path, target: str) -> dict[str, Any]:
    return (read_object(folder / NAME) or {}).get(target, {})


def save_position(folder: Path, target: str, position: dict[str, Any]) -> None:
    saved = read_object(folder / NAME) or {}
    with atomic_path(folder / NAME, overwrite=True) as path:
        path.write_text(json.dumps(saved | {target: position}, indent=1) + "\n", encoding="utf-8")
