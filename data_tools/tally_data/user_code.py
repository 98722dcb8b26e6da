# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's own: `file.py:function`, or `package.module:function`."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import ToolError

_SHOWN = 300  # characters of an error of others, which may list every tensor


def load_function(library: str, name: str, fault: type[ToolError]) -> Callable[..., Any]:
    """The function `name` of a file or module. Raises `fault` where there is none, or the import fails."""
    module = load_module(library, fault)
    function = getattr(module, name, None)
    if not callable(function):
        found = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise fault(f"'{library}' has no function '{name}'; it has {', '.join(found) or 'none'}")
    return function


def load_module(library: str, fault: type[ToolError]) -> ModuleType:
    """A file, or a module by its name. Raises `fault` where there is none, or the import fails."""
    try:
        return _load_file(Path(library), fault) if library.endswith(".py") else _import(library, fault)
    except ToolError:
        raise
    except (Exception, SystemExit) as error:  # a script that reads its own options exits
        raise fault(f"'{library}' cannot be imported: {described(error)}") from error


def described(error: BaseException) -> str:
    """One line, not too long, that says where in the user's code it happened."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    text = str(error)
    return f"{type(error).__name__}: {text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}{where}"


def _import(library: str, fault: type[ToolError]) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current directory
    if not importlib.util.find_spec(library.partition(".")[0]):
        raise fault(f"there is no Python module '{library}' in the current directory or the environment")
    return importlib.import_module(library)


def _load_file(path: Path, fault: type[ToolError]) -> ModuleType:
    if not path.is_file():
        raise fault(f"the file '{path}' does not exist")
    sys.path.insert(0, str(path.resolve().parent))  # for what it imports beside itself
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
