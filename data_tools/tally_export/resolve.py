# SPDX-License-Identifier: Apache-2.0
"""From the text of --model to a module: a torchvision or timm name, or a function of the user's own."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from tally_data.errors import ModelError
from tally_data.user_code import load_module

from .constructor import Asked, FoundModel, call_constructor
from .model_zoos import library_model, timm_model, torchvision_model


def find_model(spec: str, asked: Asked) -> FoundModel:
    """Raises ModelError where there is no such model or it cannot be made."""
    library, colon, name = spec.rpartition(":")
    if not colon:
        if spec.endswith(".py"):
            found = _functions_of(load_module(spec, ModelError))
            raise ModelError(f"'{spec}' is a file: name a function of it, as in {spec}:make; {found}")
        return library_model(spec, asked)
    if library == "torchvision":
        return torchvision_model(name, asked)
    if library == "timm":
        return timm_model(name, asked)
    module = call_constructor(_function(library, name), spec, asked, is_own=True)
    return FoundModel(module, f"{Path(library).name}:{name}", None, is_own=True)


def _function(library: str, name: str) -> Callable[..., Any]:
    module = load_module(library, ModelError)
    found = getattr(module, name, None)
    if isinstance(found, nn.Module):
        raise ModelError(
            f"'{library}:{name}' is a module ({type(found).__name__}), not a function that returns one: write "
            f"'def make(): return {name}', and name that function"
        )
    if not callable(found):
        raise ModelError(f"'{library}' has no function '{name}'; {_functions_of(module)}")
    return found


def _functions_of(module: ModuleType) -> str:
    found = [key for key, value in vars(module).items() if _makes_a_model(value) and not key.startswith("_")]
    return f"it has {', '.join(found) or 'none'}"


def _makes_a_model(value: Any) -> bool:
    return callable(value) and not isinstance(value, nn.Module)
