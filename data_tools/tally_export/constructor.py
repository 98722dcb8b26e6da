# SPDX-License-Identifier: Apache-2.0
"""Calls what makes a model, a library's or the user's own, with what the command line asks of it."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from tally_data.errors import ModelError, UsageError
from tally_data.user_code import described

from .pretrained import Pretrained

_NOT_TAKEN = re.compile(r"unexpected keyword argument '(\w+)'")
_OPTIONS = {"num_classes": "--num-classes"}  # which say it, in place of --model-kwargs
_OPTIONS_OF_LIBRARIES = _OPTIONS | {
    "img_size": "--img-size", "in_chans": "--in-chans", "pretrained": "--pretrained", "weights": "--pretrained or --weights",
    "checkpoint_path": "--weights",
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """kwargs: of --model-kwargs; img_size: height and width; pretrained: a tag, or "" for the library's default."""

    num_classes: int | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    img_size: tuple[int, int] | None = None
    in_chans: int | None = None
    pretrained: str | None = None


@dataclass(frozen=True)
class FoundModel:
    """name: `torchvision:resnet18`; input_shape: [C, H, W] where the library knows it; is_own: made by the user's code.

    pretrained: the library's weights that are loaded.
    """

    module: nn.Module
    name: str
    input_shape: tuple[int, ...] | None
    is_own: bool = False
    pretrained: Pretrained | None = None


def call_constructor(make: Callable[..., Any], name: str, asked: Asked, is_own: bool = False, **options: Any) -> nn.Module:
    """Raises ModelError where `make` fails, or does not take something of --model-kwargs."""
    for key in asked.kwargs:
        if other := (_OPTIONS if is_own else _OPTIONS_OF_LIBRARIES).get(key):
            raise UsageError(f"--model-kwargs {key}=... is said by {other}")
    if asked.num_classes is not None and takes(make, "num_classes"):
        options["num_classes"] = asked.num_classes
    try:
        module = make(**options, **asked.kwargs)
    except Exception as error:
        found = _NOT_TAKEN.search(str(error)) if isinstance(error, TypeError) else None
        if found and found[1] in asked.kwargs:
            raise ModelError(f"'{name}' does not take {found[1]} (--model-kwargs): {described(error)}") from error
        raise ModelError(f"'{name}' failed: {described(error)}") from error
    if not isinstance(module, nn.Module):
        raise ModelError(f"'{name}' returned a {type(module).__name__}, expected a torch.nn.Module")
    return module


def takes(make: Callable[..., Any], option: str) -> bool:
    parameters = inspect.signature(make).parameters
    return option in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
