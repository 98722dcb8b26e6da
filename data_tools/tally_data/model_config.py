# SPDX-License-Identifier: Apache-2.0
"""What the config.json of a Hugging Face model says of its classes and its padding."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import DataError, ModelError, UsageError
from .json_form import parse_json

PREFIX = "hf:"


@dataclass(frozen=True)
class ModelConfig:
    """num_classes and class_names: None where the file does not say them; pad: the token that rows are filled up with."""

    path: Path
    num_classes: int | None
    class_names: list[str] | None
    pad: int | None


def folder_of(like: str) -> Path:
    """Of --like hf:FOLDER."""
    if not like.startswith(PREFIX):
        raise UsageError(f"--like is '{like}', expected hf:FOLDER, where FOLDER has the model's config.json")
    return Path(like.removeprefix(PREFIX))


def read_model_config(folder: Path) -> ModelConfig:
    path = folder / "config.json"
    try:
        content = parse_json(path)
    except DataError as error:
        raise ModelError(str(error)) from error
    if not isinstance(content, dict):
        raise ModelError(f"'{path}' is not a JSON object")
    names = _names(path, content.get("id2label"))
    pad = content.get("pad_token_id")
    made_up = [f"LABEL_{number}" for number in range(len(names or []))]  # by transformers
    return ModelConfig(
        path, len(names) if names else None, None if names == made_up else names, pad if isinstance(pad, int) else None
    )


def _names(path: Path, found: Any) -> list[str] | None:
    """In the order of their numbers, which are the keys."""
    if found is None:
        return None
    if isinstance(found, dict):
        names = [found.get(str(number)) for number in range(len(found))]
        if names and all(isinstance(name, str) and name for name in names):
            return names
    raise ModelError(f"'{path}' has an 'id2label' that does not name each class from 0 on")
