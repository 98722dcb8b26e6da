# SPDX-License-Identifier: Apache-2.0
"""transformers models of images: what they take, and how their images are prepared."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tally_data.errors import ModelError

from .card import Description
from .hugging_face_recipe import of_hugging_face
from .outputs import OutputNames
from .recipe import Recipe, library_recipe
from .recipe_choice import NONE, Choice

INPUT = "pixel_values"
_CHANNELS = 3


def takes_images(module: nn.Module) -> bool:
    return getattr(module, "main_input_name", None) == INPUT


def adapt_to_images(module: nn.Module, scores: Callable[..., Any], folder: Path, asked: str | None) -> Description:
    """Gives the module a forward of pixels; its own class stays below, and the names of its weights.

    scores: what such a forward returns; asked: of --recipe.
    """
    base = type(module)

    def forward(self: nn.Module, pixel_values: torch.Tensor) -> Any:
        return scores(self, pixel_values=pixel_values)

    module.__class__ = type(base.__name__, (base,), {"forward": forward, "__module__": base.__module__})
    choice = _choose(folder, asked)
    size = _size(module.config, choice.recipe)
    choice = choice.for_size(size)
    encoding = choice.recipe.encoding if choice.recipe else None
    outputs = OutputNames(None, ("logits",))
    return Description(INPUT, (_CHANNELS, *size), False, outputs, encoding, choice.recipe, choice.note)


def _choose(folder: Path, asked: str | None) -> Choice:
    if asked is not None:
        return Choice(None if asked == NONE else library_recipe(asked))
    return of_hugging_face(folder)


def _size(config: Any, recipe: Recipe | None) -> tuple[int, int]:
    """Height and width: what the model has positions for, else what its images are cropped to."""
    if getattr(config, "num_channels", _CHANNELS) != _CHANNELS:
        raise ModelError(f"the model takes images of {config.num_channels} channels, expected {_CHANNELS}")
    size = getattr(config, "image_size", None) or (recipe.crop if recipe else None)
    if size is None:
        raise ModelError("neither config.json nor preprocessor_config.json says what size of image the model takes")
    height, width = (size, size) if isinstance(size, int) else size
    return height, width
