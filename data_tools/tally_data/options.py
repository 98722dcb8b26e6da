# SPDX-License-Identifier: Apache-2.0
"""Command line options that the prepare tools and the exporter share."""

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from .encoding import CHANNEL_ORDERS, ImageEncoding
from .errors import UsageError


class ToolParser(argparse.ArgumentParser):
    """Reports a usage fault as UsageError: one line and exit code 2."""

    def __init__(self, description: str | None) -> None:
        super().__init__(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Looks for misspelt options first: argparse would say that one is missing."""
        for word in sys.argv[1:] if args is None else args:
            name = word.partition("=")[0]
            if name.startswith("--") and name != "--" and " " not in name and name not in self._option_string_actions:
                known = [option.lstrip("-") for option in self._option_string_actions]
                nearest = difflib.get_close_matches(name.lstrip("-"), known, n=1)
                self.error(f"unknown option '{name}'" + "".join(f", did you mean '--{one}'?" for one in nearest))
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}{'' if message.endswith('?') else ';'} see --help")


def number(text: str) -> float:
    """A number, also as a fraction: 0.5, 1/255."""
    try:
        top, slash, bottom = text.partition("/")
        return float(top) / float(bottom) if slash else float(top)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number or a fraction such as 1/255") from None


def numbers(text: str) -> tuple[float, ...]:
    """Numbers with commas between them."""
    return tuple(number(part) for part in text.split(","))


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return int(text)


def not_negative(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)


def side_or_size(text: str) -> int | tuple[int, int]:
    """256, or 224x192: height and width."""
    return size(text) if "x" in text else positive(text)


def size(text: str) -> tuple[int, int]:
    """Height and width: 480x640."""
    try:
        height, width = map(positive, text.split("x"))
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(f"'{text}' is not a height and a width such as 480x640") from None
    return height, width


def add_output_options(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help=what)
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output file")


def add_shards_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shards", type=positive, metavar="N", help="write N files and an index of them; --output is NAME.shards.json"
    )


def add_broken_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--skip-broken", action="store_true", help="leave out images that cannot be decoded, with a note that lists them"
    )


def add_image_options(parser: argparse.ArgumentParser, default: ImageEncoding | None) -> None:
    """--channels --scale --mean --std; `default` is only for the help text."""
    what = "model input = (u8 * scale - mean) / std, per channel"
    if default is None:
        what += "; default: the recipe's (--recipe), or what the module's own card says, else none is written"
    group = parser.add_argument_group("normalisation", what)

    def shown(value: object) -> str:
        return "" if default is None else f" (default {value})"

    def listed(values: tuple[float, ...]) -> str:
        return ",".join(f"{value:g}" for value in values)

    order, scale, mean, std = " (default RGB, or L for one channel)", " (default 1/255)", "", ""
    if default is not None:
        order, scale = shown(default.channels), shown(f"{default.scale:.6g}")
        mean, std = shown(listed(default.mean)), shown(listed(default.std))
    group.add_argument(
        "--channels", choices=list(CHANNEL_ORDERS), help="order of the channels; L is grey" + order
    )
    group.add_argument("--scale", type=number, metavar="X", help="such as 1/255" + scale)
    group.add_argument("--mean", type=numbers, metavar="X,...", help="one value, or one per channel" + mean)
    group.add_argument("--std", type=numbers, metavar="X,...", help="one value, or one per channel" + std)


def image_encoding(args: argparse.Namespace, default: ImageEncoding) -> ImageEncoding:
    """The encoding asked for, with the recipe's values where an option was not given."""
    channels = args.channels or default.channels
    if args.mean is not None and args.std is not None:
        scale, mean, std = default.scale, args.mean, args.std
    else:
        recipe = default.with_channels(channels)
        scale, mean, std = recipe.scale, args.mean or recipe.mean, args.std or recipe.std
    count = CHANNEL_ORDERS[channels]
    spread = [values * count if len(values) == 1 else values for values in (mean, std)]
    return ImageEncoding(channels, scale if args.scale is None else args.scale, spread[0], spread[1])
