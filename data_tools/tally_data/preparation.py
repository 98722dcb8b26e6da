# SPDX-License-Identifier: Apache-2.0
"""How pixels are made of images: what prepare_imagefolder.py's options say, and where they say nothing a recipe.

prepare_dataset.py has the same options.
"""

import argparse
from typing import Any, Protocol

from .decode import CROP_MODES, FILTERS, DecodeRule
from .encoding import IMAGENET, ImageEncoding
from .errors import UsageError
from .geometry import Size
from .options import ToolParser, image_encoding, side_or_size

GEOMETRY = ("resize", "crop", "crop_mode", "interpolation")  # of a recipe


class Recipe(Protocol):
    """What is asked of a tally_export.recipe.Recipe; what is not known is None."""

    source: str
    encoding: ImageEncoding | None
    resize: Size | None
    crop: Size | None
    crop_mode: str | None
    interpolation: str | None


def add_geometry_options(parser: ToolParser) -> None:
    parser.add_argument(
        "--like", metavar="MODEL", help="an exported file, torchvision's or timm's name, or hf:FOLDER: prepare images for it"
    )
    parser.add_argument(
        "--recipe", metavar="TAG", help="of these weights: IMAGENET1K_V1 of --like's model, or a full name: timm:resnet18.a1_in1k"
    )
    parser.add_argument(
        "--resize", type=side_or_size, metavar="N|HxW", help="length of the shorter side, or height and width"
    )
    parser.add_argument("--crop", type=side_or_size, metavar="N|HxW", help="what is cut from the centre")
    parser.add_argument(
        "--crop-mode", choices=CROP_MODES,
        help="center: the shorter side becomes --resize; border: the longer one, the rest is filled with the mean; squash: both; "
        "default center, with --resize HxW squash",
    )  # fmt: skip
    parser.add_argument("--interpolation", choices=tuple(FILTERS), help="for --resize, default bilinear")


IMAGENET_NOTE = (
    "note: the data set gets ImageNet's mean and std, as no option gives others (--like MODEL, or --mean and --std); "
    "a model card's normalisation is used instead"
)


def find_recipe(args: argparse.Namespace) -> Recipe | None:
    """None where neither --like nor --recipe asks for one."""
    if args.like is None and args.recipe is None:
        return None
    # The libraries that know recipes are large, and not needed without one.
    from tally_export.recipe import library_recipe
    from tally_export.recipe_like import recipe_like

    return library_recipe(args.recipe) if args.like is None else recipe_like(args.like, args.recipe)


def preparation(args: argparse.Namespace, recipe: Recipe | None) -> tuple[ImageEncoding, DecodeRule]:
    """What options say wins over the recipe, with a note. Raises UsageError where neither says enough."""
    asked = _asked_geometry(args)
    known = _known_geometry(recipe) if recipe else {}
    found = known | asked
    if recipe is not None:
        _require(recipe, found, args)
    if "resize" not in found and (unused := [name for name in ("interpolation", "crop_mode") if name in asked]):
        raise UsageError(f"{_option(unused[0])} is for --resize")
    encoding = image_encoding(args, (recipe and recipe.encoding) or IMAGENET)
    others = _differences(recipe, known, asked, encoding) if recipe else []
    if recipe and others:
        print(f"note: {', '.join(others)}, as the options say, not as {recipe.source}'s recipe")
    is_whole = recipe is not None and recipe.encoding is not None and len(known) == len(GEOMETRY)
    mode = found.get("crop_mode", "center")
    rule = DecodeRule(
        encoding.channels, found.get("resize"), found.get("crop"), found.get("interpolation", "bilinear"), mode,
        _fill(encoding) if mode == "border" else (), recipe is not None and recipe.source.startswith("hf:"),
        recipe.source if recipe and is_whole and not others else None,
    )  # fmt: skip
    return encoding, rule


def _asked_geometry(args: argparse.Namespace) -> dict[str, Any]:
    def both(value: int | Size) -> Size:
        return (value, value) if isinstance(value, int) else value

    asked: dict[str, Any] = {name: both(value) for name in ("resize", "crop") if (value := getattr(args, name)) is not None}
    if args.resize is not None:
        asked["crop_mode"] = "center" if isinstance(args.resize, int) else "squash"
    words = {"crop_mode": args.crop_mode, "interpolation": args.interpolation}
    return asked | {name: word for name, word in words.items() if word is not None}


def _known_geometry(recipe: Recipe) -> dict[str, Any]:
    return {name: value for name in GEOMETRY if (value := getattr(recipe, name)) is not None}


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _require(recipe: Recipe, found: dict[str, Any], args: argparse.Namespace) -> None:
    missing = [_option(name) for name in GEOMETRY if name not in found]
    if recipe.encoding is None and (args.mean is None or args.std is None):
        missing += ["--mean", "--std"]
    if missing:
        raise UsageError(
            f"the recipe of {recipe.source} does not say all: name weights with --recipe, or give {', '.join(missing)}"
        )


def _differences(
    recipe: Recipe, known: dict[str, Any], asked: dict[str, Any], encoding: ImageEncoding
) -> list[str]:
    def text(value: Any) -> str:
        return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)

    others = [
        f"{_option(name)} {text(value)} instead of {text(known[name])}"
        for name, value in asked.items() if name in known and known[name] != value
    ]  # fmt: skip
    if recipe.encoding is not None and not _is_same(encoding, recipe.encoding):
        others.append("another normalisation")
    return others


def _is_same(encoding: ImageEncoding, theirs: ImageEncoding) -> bool:
    """But for the order in which channels are stored."""
    if encoding.num_channels != theirs.num_channels:
        return False
    return encoding == theirs.with_channels(encoding.channels)


def _fill(encoding: ImageEncoding) -> tuple[int, ...]:
    """The mean as a byte, in the order of RGB: what timm puts beside an image that is too small."""
    values = encoding.mean[::-1] if encoding.channels == "BGR" else encoding.mean
    if encoding.scale == IMAGENET.scale:
        return tuple(round(255 * value) for value in values)
    return tuple(min(max(round(value / encoding.scale), 0), 255) for value in values)
