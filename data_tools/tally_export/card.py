"""The model card: docs/model-card.md."""

import argparse
from dataclasses import dataclass
from typing import Any

import torch

from tally_data.encoding import IMAGENET, ImageEncoding
from tally_data.errors import ModelError, UsageError
from tally_data.options import image_encoding

from .probe import try_image_shapes
from .resolve import FoundModel

CARD_NAME = "tally.json"
CARD_VERSION = 1
KINDS = ("logits", "log-probabilities", "probabilities")
_OWN_KEYS = {"normalisation", "inputs", "outputs"}


@dataclass(frozen=True)
class Description:
    """What is known of a model before it is exported. input_shape: without the batch dimension."""

    input_name: str
    input_shape: tuple[int, ...]
    any_size: bool  # images of any height and width
    output_name: str
    kind: str
    normalisation: ImageEncoding | None


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


def _only_entry(own: dict[str, Any], key: str) -> dict[str, Any]:
    entries = own.get(key, [{}])
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        raise ModelError(f"'{key}' of the module's tally_card must be a list of one dict")
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
    args: argparse.Namespace, own: ImageEncoding | None, channels: int
) -> ImageEncoding | None:
    """None unless an option or the module gives one: a guess would silently spoil the results."""
    if all(getattr(args, name) is None for name in ("channels", "scale", "mean", "std")):
        return own
    if own is None and (args.mean is None or args.std is None):
        raise UsageError("a normalisation needs at least --mean and --std")
    default = own or ImageEncoding(
        "L" if channels == 1 else "RGB", IMAGENET.scale, (0.0,) * channels, (1.0,) * channels
    )
    return image_encoding(args, default)


def _input_shape(
    args: argparse.Namespace, given: dict[str, Any], found: FoundModel
) -> tuple[tuple[int, ...], bool]:
    """Of one sample, and whether it is one of many sizes of image."""
    shape = args.input_shape or given.get("shape") or found.input_shape
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
    given, returned = _only_entry(own, "inputs"), _only_entry(own, "outputs")
    shape, any_size = _input_shape(args, given, found)
    kind = args.outputs or returned.get("kind", "logits")
    if kind not in KINDS:
        raise ModelError(
            f"the module's tally_card says that it returns '{kind}', expected {', '.join(KINDS)}"
        )
    own_normalisation = _own_normalisation(own)
    normalisation = _asked_normalisation(args, own_normalisation, shape[0])
    if normalisation is not None and (len(shape) != 3 or normalisation.num_channels != shape[0]):
        raise UsageError(
            f"channels {normalisation.channels} do not fit the input shape {','.join(map(str, shape))}"
        )
    name = returned.get("name", kind.replace("-", "_"))
    return Description(given.get("name", "image"), shape, any_size, name, kind, normalisation)


def make_card(
    what: Description,
    output: torch.Tensor,
    input_dtype: torch.dtype,
    facts: dict[str, Any],
    source: dict[str, Any],
) -> dict[str, Any]:
    """output: what the model returned for an example, [batch, num_classes] or [batch]; facts: further keys."""
    num_classes = output[0].numel()
    shape = [what.input_shape[0], "height", "width"] if what.any_size else list(what.input_shape)
    card: dict[str, Any] = {
        "tally_card": CARD_VERSION,
        "inputs": [{"name": what.input_name, "dtype": dtype_name(input_dtype), "shape": ["batch", *shape]}],
        "outputs": [
            {
                "name": what.output_name,
                "kind": what.kind,
                "dtype": dtype_name(output.dtype),
                "shape": ["batch", *output.shape[1:]],
            }
        ],
        "fixed_batch": None,
        **facts,
        "num_classes": num_classes,
        "source": source,
    }
    if what.normalisation is not None:
        encoding = what.normalisation
        card["normalisation"] = {
            "scale": encoding.scale,
            "mean": list(encoding.mean),
            "std": list(encoding.std),
            "channels": encoding.channels,
        }
    return card


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
