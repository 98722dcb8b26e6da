# SPDX-License-Identifier: Apache-2.0
"""What would fit, where weights do not fit the model that --model names."""

import re
from collections.abc import Callable

from torch import nn

from tally_data.errors import ToolError

from .model_zoos import is_timm_model
from .weights import held_tensors

_MISSHAPED = re.compile(r"; (\d+) of another shape or type: ")
# As tally says it: fc.weight [5, 512] float32 (the model's: [1000, 512] float32)
_TENSOR = re.compile(r"(\S+) \[([\d, ]+)\] \w+ \(the model's: \[[\d, ]+\] \w+\)")


def hint_of(message: str, spec: str, name: str, make: Callable[[int], nn.Module] | None) -> str:
    """A sentence to append to tally's message, or nothing. spec: of --model; name: of what was found; make: by classes."""
    if make and (num_classes := _other_classes(message)) and _fits(message, num_classes, make):
        return f" --num-classes {num_classes} would fit."
    if name == f"torchvision:{spec}" and " missing: " in message and is_timm_model(spec):
        return f" The model is taken from torchvision; timm has one of this name, too: timm:{spec}."
    return ""


def _shapes(message: str) -> dict[str, list[int]]:
    """Of the weights' tensors that have another shape than the model's; none where there are other faults, too."""
    found = _MISSHAPED.search(message)
    if not found or " missing: " in message or " unexpected: " in message:
        return {}
    shapes = {one[1]: [int(size) for size in one[2].split(", ")] for one in _TENSOR.finditer(message, found.end())}
    return shapes if len(shapes) == int(found[1]) else {}


def _other_classes(message: str) -> int | None:
    firsts = {shape[0] for shape in _shapes(message).values()}
    return firsts.pop() if len(firsts) == 1 else None


def _fits(message: str, num_classes: int, make: Callable[[int], nn.Module]) -> bool:
    try:
        held = held_tensors(make(num_classes))
    except ToolError:
        return False
    return all(name in held and list(held[name].shape) == shape for name, shape in _shapes(message).items())
