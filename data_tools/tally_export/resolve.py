# SPDX-License-Identifier: Apache-2.0
"""From the text of --model to a module: a torchvision or timm name, or a function of the user's own."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from tally_data.errors import ModelError

from .constructor import Asked, FoundModel, call_constructor, described
from .library_models import library_model, timm_model, torchvision_model


def find_model(spec: str, asked: Asked) -> FoundModel:
    """Raises ModelError where there is no such model or it cannot be made."""
    library, colon, name = spec.rpartition(":")
    if not colon:
        if spec.endswith(".py"):
            raise ModelError(f"'{spec}' is a file: name a function of it, as in {spec}:make; {_functions_of(_module(spec))}")
        return library_model(spec, asked)
    if library == "torchvision":
        return torchvision_model(name, asked)
    if library == "timm":
        return timm_model(name, asked)
    module = call_constructor(_function(library, name), spec, asked, is_own=True)
    return FoundModel(module, f"{Path(library).name}:{name}", None, is_own=True)


def _module(library: str) -> ModuleType:
    try:
        return _load_file(Path(library)) if library.endswith(".py") else _import(library)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"'{library}' cannot be imported: {described(error)}") from error


def _function(library: str, name: str) -> Callable[..., Any]:
    module = _module(library)
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


def _import(library: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current directory
    if not importlib.util.find_spec(library.partition(".")[0]):
        raise ModelError(f"there is no Python module '{library}' in the current directory or the environment")
    return importlib.import_module(library)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ModelError(f"the file '{path}' does not exist")
    sys.path.insert(0, str(path.resolve().parent))  # for what it imports beside itself
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
