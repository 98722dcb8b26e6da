# SPDX-License-Identifier: Apache-2.0
"""From the text of --model to a module: a torchvision or timm name, or a function of the user's own."""

import difflib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from tally_data.errors import ModelError


@dataclass(frozen=True)
class FoundModel:
    """name: `torchvision:resnet18`; input_shape: [C, H, W] where the library knows it; is_own: made by the user's code."""

    module: nn.Module
    name: str
    input_shape: tuple[int, ...] | None
    is_own: bool = False


def find_model(spec: str, num_classes: int | None) -> FoundModel:
    """Raises ModelError where there is no such model or it cannot be made."""
    library, colon, name = spec.rpartition(":")
    if not colon:
        return _search_libraries(spec, num_classes)
    if library == "torchvision":
        return _torchvision(name, num_classes)
    if library == "timm":
        return _timm(name, num_classes)
    return FoundModel(
        _call(_function(library, name), spec, num_classes), f"{Path(library).name}:{name}", None, is_own=True
    )


def _search_libraries(name: str, num_classes: int | None) -> FoundModel:
    if name in torchvision_names():
        return _torchvision(name, num_classes)
    import timm

    if timm.is_model(name.partition(".")[0]):
        return _timm(name, num_classes)
    raise _unknown(name, "torchvision or timm", torchvision_names() + timm.list_models())


def _unknown(name: str, library: str, names: list[str]) -> ModelError:
    close = difflib.get_close_matches(name, sorted(set(names)), 3)
    hint = f"did you mean {', '.join(close)}?" if close else "for a model of your own write module:function"
    return ModelError(f"there is no model '{name}' in {library}; {hint}")


def torchvision_names() -> list[str]:
    import torchvision

    return torchvision.models.list_models(module=torchvision.models)


def _torchvision(name: str, num_classes: int | None) -> FoundModel:
    import torchvision

    if name not in torchvision_names():
        raise _unknown(name, "torchvision", torchvision_names())
    module = _call(torchvision.models.get_model_builder(name), name, num_classes, weights=None)
    recipe = torchvision.models.get_model_weights(name).DEFAULT.transforms()  # reads no weights
    side = recipe.crop_size[0]
    return FoundModel(module, f"torchvision:{name}", (3, side, side))


def _timm(name: str, num_classes: int | None) -> FoundModel:
    import timm

    if not timm.is_model(name.partition(".")[0]):
        raise _unknown(name, "timm", timm.list_models())

    def make(**options: Any) -> nn.Module:
        return timm.create_model(name, pretrained=False, exportable=True, **options)

    module = _call(make, name, num_classes)
    return FoundModel(module, f"timm:{name}", tuple(module.default_cfg["input_size"]))


def _function(library: str, name: str) -> Callable[..., Any]:
    try:
        module = _load_file(Path(library)) if library.endswith(".py") else _import(library)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"'{library}' cannot be imported: {_described(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        found = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise ModelError(f"'{library}' has no function '{name}'; it has {', '.join(found) or 'none'}")
    return function


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


def _call(make: Callable[..., Any], name: str, num_classes: int | None, **options: Any) -> nn.Module:
    if num_classes is not None and _takes(make, "num_classes"):
        options["num_classes"] = num_classes
    try:
        module = make(**options)
    except Exception as error:
        raise ModelError(f"'{name}' failed: {_described(error)}") from error
    if not isinstance(module, nn.Module):
        raise ModelError(f"'{name}' returned a {type(module).__name__}, expected a torch.nn.Module")
    return module


def _takes(make: Callable[..., Any], option: str) -> bool:
    parameters = inspect.signature(make).parameters
    return option in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _described(error: Exception) -> str:
    """One line that says where in the user's code it happened."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
