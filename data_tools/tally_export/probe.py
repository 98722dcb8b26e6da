# SPDX-License-Identifier: Apache-2.0
"""Finds out what image size a module takes, where nobody says so, by trying."""

import torch
from torch import nn

from tally_data.errors import UsageError

# The usual sizes, the most usual first; a net that ends in a linear layer over positions takes hardly another.
SIDES = (
    224,
    32,
    28,
    8,
    16,
    64,
    128,
    256,
    96,
    48,
    24,
    20,
    40,
    56,
    84,
    112,
    160,
    192,
    227,
    240,
    288,
    299,
    320,
    384,
    448,
    512,
)
_OTHER_SIDE = 192


def _takes(module: nn.Module, shape: tuple[int, ...]) -> bool:
    try:
        with torch.inference_mode():
            output = module(torch.zeros((2, *shape)))
    except Exception:
        return False
    # What else it returns is looked at later, which says more clearly what is wrong with it.
    return not isinstance(output, torch.Tensor) or (output.ndim > 0 and len(output) == 2)


def try_image_shapes(module: nn.Module) -> tuple[tuple[int, int, int], bool]:
    """[C, H, W] that the module takes, and whether it takes images of any size. Raises UsageError if none is found."""
    first = next((part for part in module.modules() if isinstance(part, nn.Conv2d)), None)
    if first is not None:
        was_training = module.training
        module.eval()
        for side in SIDES:
            if _takes(module, (first.in_channels, side, side)):
                other = (first.in_channels, _OTHER_SIDE, _OTHER_SIDE)
                any_size = side == SIDES[0] and _takes(module, other)
                module.train(was_training)
                return (first.in_channels, side, side), any_size
    raise UsageError("--input-shape C,H,W is needed: the model does not say what it takes")
