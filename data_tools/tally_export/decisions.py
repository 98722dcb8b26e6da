# SPDX-License-Identifier: Apache-2.0
"""Where a model decides by its data while it is traced: the trace keeps what was decided for the example."""

import ast
import linecache
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import torch

from .training_mode import reaches

# What takes a tensor out of the trace, and what Python makes of it.
_TAKEN_AS = {
    "__bool__": "bool", "__int__": "int", "__float__": "float", "__index__": "int", "item": "number", "tolist": "list",
    "numpy": "array", "is_nonzero": "bool", "equal": "bool", "allclose": "bool",
}  # fmt: skip
_FUNCTIONS = ("is_nonzero", "equal", "allclose")
# They read nothing of their first argument but its shape.
_OF_SHAPES = {
    "aten::size", "aten::len", "aten::dim", "aten::numel", "aten::zeros_like", "aten::ones_like", "aten::empty_like",
    "aten::full_like", "aten::new_zeros", "aten::new_ones", "aten::new_empty", "aten::new_full", "prim::shape",
    "prim::device", "prim::dtype",
}  # fmt: skip
_TORCH = f"{Path(torch.__file__).parent}/"


@contextmanager
def recorded_decisions() -> Iterator[list[str]]:
    """Yields a list that fills with lines such as "net.py:12 (bool)"; the tracer's own warnings are left out.

    What depends on shapes, weights or constants only is no decision by data, and an assertion that holds decides
    nothing.
    """
    found: list[str] = []

    def watched(owner: Any, name: str) -> Any:
        original = getattr(owner, name)

        def call(*arguments: Any, **more: Any) -> Any:
            if torch.jit.is_tracing() and any(map(_is_of_data, arguments)):
                _record(found, sys._getframe(1), _TAKEN_AS[name])
            return original(*arguments, **more)

        return call

    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
        for owner, names in ((torch.Tensor, _TAKEN_AS), (torch, _FUNCTIONS)):
            replaced = {name: watched(owner, name) for name in names}
            stack.enter_context(mock.patch.multiple(owner, **replaced))
        yield found


def _is_of_data(value: Any) -> bool:
    """Whether a tensor of the trace is computed from the values of the model's inputs."""
    if not isinstance(value, torch.Tensor):
        return False
    try:
        traced = torch._C._get_value_trace(value)
    except RuntimeError:  # a weight that is no part of the module
        return False
    return reaches(
        traced,
        lambda one: list(one.node().inputs())[1 if one.node().kind() in _OF_SHAPES else 0 :],
        # The module itself is a parameter of the graph, too.
        lambda one: one.node().kind() == "prim::Param" and one.type().kind() != "ClassType",
        torch.Value.unique,
    )


def _record(found: list[str], frame: FrameType | None, taken_as: str) -> None:
    while frame is not None and frame.f_code.co_filename.startswith(_TORCH):
        if frame.f_code.co_name == "_assert":
            return
        frame = frame.f_back
    if frame is None or _only_checks(frame.f_code.co_filename, frame.f_lineno):
        return
    place = f"{frame.f_code.co_filename}:{frame.f_lineno} ({taken_as})"
    if place not in found:
        found.append(place)


def _only_checks(file: str, line: int) -> bool:
    """Whether the line is of an assertion, or of a condition that does nothing but raise."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return False
    checks = filter(None, map(_check_in, ast.walk(tree)))
    return any(check.lineno <= line <= (check.end_lineno or line) for check in checks)


def _check_in(node: ast.AST) -> ast.stmt | ast.expr | None:
    """The part of a statement that is only a check."""
    if isinstance(node, ast.If):
        return node.test if isinstance(node.body[-1], ast.Raise) and not node.orelse else None
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "_assert"  # of torch
    return node if is_call or isinstance(node, ast.Assert) else None
