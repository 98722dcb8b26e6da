# SPDX-License-Identifier: Apache-2.0
"""The model card: docs/model-card.md."""

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tally_data.encoding import IMAGENET, ImageEncoding
from tally_data.errors import ModelError, UsageError
from tally_data.options import image_encoding

from .class_names import ClassNames, of_own_card, of_published
from .constructor import FoundModel
from .outputs import OutputNames, find_output_names, num_classes_of, shapes_in_words
from .probe import try_image_shapes
from .recipe import Recipe
from .recipe_choice import choose_recipe
from .verify_export import UNLIKE_ROWS, Batch, Checks, Names, Outputs, random_batch, unlike_values

CARD_VERSION = 1
EXAMPLE_ROWS = 4  # of the batch that TorchScript is traced with
# An example of one row, or of few, would leave its mark on what a compiler assumes of all batches.
PACKAGE_ROWS = 16
_OWN_KEYS = {"normalisation", "inputs", "outputs", "class_names"}


@dataclass(frozen=True)
class Description:
    """What is known of a model before it is exported. input_shape: without the batch dimension.

    recipe: of the images that its weights were trained on; note: what the user should know of it.
    """

    input_name: str
    input_shape: tuple[int, ...]
    any_size: bool  # images of any height and width
    outputs: OutputNames
    normalisation: ImageEncoding | None
    recipe: Recipe | None = None
    note: str | None = None
    class_names: ClassNames | None = None

    @property
    def names(self) -> Names:
        return self.outputs.names

    def preparation(self, output: Path) -> str | None:
        """The call that prepares images for the model in this file; None where its card does not say all of it."""
        if self.recipe is None or not self.recipe.says_all(self.normalisation):
            return None
        return f"prepare_imagefolder.py --like {shlex.quote(str(output))}"

    def batch(self, size: int, dtype: torch.dtype, shape: tuple[int, ...] | None = None) -> Batch:
        return (random_batch(size, shape or self.input_shape, dtype, self.normalisation),)

    def example(self, dtype: torch.dtype) -> Batch:
        return self.batch(EXAMPLE_ROWS, dtype)

    def others(self, dtype: torch.dtype) -> list[Batch]:
        """Batches unlike the example, which an exported model must get right."""
        batches = [self.batch(EXAMPLE_ROWS + 3, dtype), self.batch(1, dtype)]
        if self.any_size:
            larger = (self.input_shape[0], self.input_shape[1] + 32, self.input_shape[2] + 64)
            batches.append(self.batch(2, dtype, larger))
        return batches

    def checks(self, dtype: torch.dtype) -> Checks:
        return Checks(self.others(dtype), self._unlike(UNLIKE_ROWS, dtype), self.names)

    def package_checks(self, fixed_batch: int | None, dtype: torch.dtype) -> Checks:
        """The first batch is the example that a package is compiled for."""
        sizes = [fixed_batch] if fixed_batch else [PACKAGE_ROWS, PACKAGE_ROWS + 3, 1]
        return Checks([self.batch(size, dtype) for size in sizes], self._unlike(fixed_batch or UNLIKE_ROWS, dtype))

    def _unlike(self, size: int, dtype: torch.dtype) -> list[Batch]:
        return [(values,) for values in unlike_values(*self.batch(size, dtype))]

    def card_entries(self, all_outputs: list[Outputs], dtype: torch.dtype) -> dict[str, Any]:
        """all_outputs: what the model returned for the example and for other batches."""
        shape = [self.input_shape[0], "height", "width"] if self.any_size else list(self.input_shape)
        example = all_outputs[0]
        entries: dict[str, Any] = {
            "inputs": [{"name": self.input_name, "dtype": dtype_name(dtype), "shape": ["batch", *shape]}],
            "outputs": self.outputs.card_entries(example, shapes_in_words(all_outputs, self.any_size)),
        }
        if (num_classes := num_classes_of(example)) is not None:
            entries["num_classes"] = num_classes
        if self.normalisation is not None:
            encoding = self.normalisation
            entries["normalisation"] = {
                "scale": encoding.scale,
                "mean": list(encoding.mean),
                "std": list(encoding.std),
                "channels": encoding.channels,
            }
        if self.recipe is not None:
            entries["recipe"] = self.recipe.card_entry()
        return entries

    def summary(self, outputs: Outputs) -> str:
        shape = "any size" if self.any_size else "x".join(map(str, self.input_shape))
        return f"{shape} to {self.outputs.summary(outputs)}"


def take_own_card(module: torch.nn.Module) -> dict[str, Any]:
    """The dict `tally_card` of the user's module, checked and taken off it, so that it does not reach TorchScript."""
    own = getattr(module, "tally_card", None)
    if own is None:
        return {}
    if not isinstance(own, dict) or not set(own) <= _OWN_KEYS:
        raise ModelError(
            f"the module's tally_card must be a dict with keys of {', '.join(sorted(_OWN_KEYS))}"
        )
    if "tally_card" in vars(module):
        del module.tally_card
    return own


def _only_input(own: dict[str, Any]) -> dict[str, Any]:
    entries = own.get("inputs", [{}])
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        raise ModelError("'inputs' of the module's tally_card must be a list of one dict")
    return entries[0]


def _own_normalisation(own: dict[str, Any]) -> ImageEncoding | None:
    if "normalisation" not in own:
        return None
    try:
        given = dict(own["normalisation"])
        return ImageEncoding(
            given.pop("channels"), given.pop("scale"), given.pop("mean"), given.pop("std"), **given
        )
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise ModelError(f"'normalisation' of the module's tally_card is wrong: {error!r}") from error


def _asked_normalisation(
    args: argparse.Namespace, own: ImageEncoding | None, recipe: Recipe | None, channels: int
) -> ImageEncoding | None:
    """None unless an option, the module or its weights' recipe gives one: a guess would silently spoil the results."""
    by_recipe = recipe.encoding if recipe else None
    if args.recipe and by_recipe:  # what was asked for wins over what the module says of itself
        own = by_recipe
    known = own or by_recipe
    if all(getattr(args, name) is None for name in ("channels", "scale", "mean", "std")):
        return known
    # A mean of one origin and a deviation of another hardly belong together.
    one_alone = (args.mean is None) != (args.std is None)
    if (own is None and one_alone) or (known is None and args.mean is None):
        raise UsageError("a normalisation needs at least --mean and --std")
    default = known or ImageEncoding(
        "L" if channels == 1 else "RGB", IMAGENET.scale, (0.0,) * channels, (1.0,) * channels
    )
    return image_encoding(args, default)


def _input_shape(
    args: argparse.Namespace, given: dict[str, Any], found: FoundModel, recipe: Recipe | None
) -> tuple[tuple[int, ...], bool]:
    """Of one sample, and whether it is one of many sizes of image."""
    channels = found.input_shape[0] if found.input_shape else 3
    by_recipe = (channels, *recipe.crop) if recipe and recipe.crop and not args.img_size else None
    shape = args.input_shape or given.get("shape") or by_recipe or found.input_shape
    if isinstance(shape, list) and shape[:1] == ["batch"]:
        shape = shape[1:]
    if shape is None or list(shape[1:]) == ["height", "width"]:
        return try_image_shapes(found.module)
    if not all(isinstance(size, int) and size > 0 for size in shape):
        raise ModelError(
            f"the module's tally_card has the input shape {shape}, expected the sizes of one sample as in "
            '[3, 224, 224], or [3, "height", "width"]'
        )
    return tuple(shape), False


def describe(args: argparse.Namespace, own: dict[str, Any], found: FoundModel) -> Description:
    """Options win over the module's own card, then what the library says, then what trying shows."""
    given, outputs = _only_input(own), find_output_names(args, own)
    size = args.input_shape[1:] if args.input_shape else args.img_size
    choice = choose_recipe(args.recipe, found, args.num_classes, args.weights, size)
    shape, any_size = _input_shape(args, given, found, choice.recipe)
    if not any_size:
        choice = choice.for_size(shape[1:])
    if args.in_chans:
        choice = choice.for_channels(args.in_chans)
    normalisation = _asked_normalisation(args, _own_normalisation(own), choice.recipe, shape[0])
    if normalisation is not None and (len(shape) != 3 or normalisation.num_channels != shape[0]):
        raise UsageError(
            f"channels {normalisation.channels} do not fit the input shape {','.join(map(str, shape))}"
        )
    names = of_own_card(own) or (of_published(choice.weights) if choice.weights else None)
    name = given.get("name", "image")
    return Description(name, shape, any_size, outputs, normalisation, choice.recipe, choice.note, names)


def make_card(entries: dict[str, Any], facts: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """entries: what the form of the model says, with inputs and outputs; facts: further keys."""
    return {"tally_card": CARD_VERSION, "fixed_batch": None, **entries, **facts, "source": source}


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
