# SPDX-License-Identifier: Apache-2.0
"""Samples of a dataset that a function of the user's own returns, such as a torch Dataset."""

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .errors import DataError, ToolError, UsageError
from .items import ColumnChoice, Item, item_of
from .user_code import described, load_function


class FunctionSource:
    """Map-style, read item by item, or a stream (a torch IterableDataset), read from the beginning each time."""

    renames_image = False

    def __init__(self, dataset: Any, choice: ColumnChoice, fingerprint: str, num_items: int | None) -> None:
        self.num_items = num_items
        self.fingerprint = fingerprint
        self._dataset = dataset
        self._choice = choice
        names = getattr(dataset, "classes", None)  # as torchvision's datasets have them
        is_list = isinstance(names, list | tuple) and all(isinstance(name, str) and name for name in names)
        self.class_names = list(names) if is_list and names else None

    def read(self, first: int, last: int | None) -> Iterator[Item]:
        values = self._stream(first, last) if self.num_items is None else self._items(first, last)
        for index, value in enumerate(values, first):
            yield item_of(value, index, self._choice)

    def _items(self, first: int, last: int | None) -> Iterator[Any]:
        for index in range(first, self.num_items if last is None else last):
            yield _call(f"item {index}", lambda index=index: self._dataset[index])

    def _stream(self, first: int, last: int | None) -> Iterator[Any]:
        iterator, index, end = _call("item 0", lambda: iter(self._dataset)), 0, object()
        while last is None or index < last:
            value = _call(f"item {index}", lambda: next(iterator, end))
            if value is end:
                return
            if index >= first:
                yield value
            index += 1


def _call(what: str, function: Callable[[], Any]) -> Any:
    try:
        return function()
    except ToolError:
        raise
    except (Exception, SystemExit) as error:
        raise DataError(f"{what}: the dataset raised {described(error)}") from error


def open_function(library: str, name: str, choice: ColumnChoice) -> FunctionSource:
    """Calls the function, which must need no arguments."""
    function = load_function(library, name, UsageError)
    try:
        dataset = function()
    except ToolError:
        raise
    except (Exception, SystemExit) as error:
        raise DataError(f"'{library}:{name}' failed: {described(error)}") from error
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # as DataLoader's workers: the values do not depend on the number of workers
    if _is_stream(dataset):
        if _call(f"'{library}:{name}'", lambda: iter(dataset)) is dataset:
            raise UsageError(f"'{library}:{name}' returned what can be iterated once only: return an object that begins anew")
        return FunctionSource(dataset, choice, _fingerprint(library, function), None)
    if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
        raise UsageError(
            f"'{library}:{name}' returned a {type(dataset).__name__}, expected a torch Dataset, or what has a length and items"
        )
    num_items = _call(f"'{library}:{name}'", lambda: len(dataset))
    return FunctionSource(dataset, choice, _fingerprint(library, function), num_items)


def _is_stream(dataset: Any) -> bool:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(dataset, torch.utils.data.IterableDataset):
        return True
    return hasattr(dataset, "__iter__") and not hasattr(dataset, "__getitem__")


def _fingerprint(library: str, function: Callable[..., Any]) -> str:
    """Of the code of the function's file."""
    try:
        file = library if library.endswith(".py") else inspect.getsourcefile(function)
    except TypeError:  # built in, or a callable object
        file = None
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
