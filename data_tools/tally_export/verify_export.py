# SPDX-License-Identifier: Apache-2.0
"""Does an exported model give what the module gives?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tally_data.encoding import ImageEncoding
from tally_data.errors import ModelError

Batch = tuple[torch.Tensor, ...]  # the arguments of forward; each [batch, ...]
Outputs = tuple[torch.Tensor, ...]  # each [batch, ...]
Names = tuple[str, ...] | None  # of the outputs that are wanted; None: all of them
Forward = Callable[..., Any]

# Largest difference allowed, as a part of the largest output: kernels may be fused or chosen otherwise.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}
INTEGERS = (torch.int64, torch.int32)
UNLIKE_ROWS = 2  # of a batch unlike what the model is made for
_LARGE = 100.0


@dataclass(frozen=True)
class Checks:
    """Batches that an exported model must get right.

    usual: as the model is made for; unlike: others, which it may answer with NaN or Inf, or fail on.
    """

    usual: list[Batch]
    unlike: list[Batch]
    names: Names = None


def random_batch(
    size: int, shape: tuple[int, ...], dtype: torch.dtype, encoding: ImageEncoding | None
) -> torch.Tensor:
    """[size, *shape]: normalised noise pixels where the normalisation is known, else standard normal."""
    generator = torch.Generator().manual_seed(size)
    if encoding is None:
        return torch.randn((size, *shape), generator=generator).to(dtype)
    pixels = torch.randint(0, 256, (size, *shape), generator=generator).float()
    mean, std = (torch.tensor(values)[:, None, None] for values in (encoding.mean, encoding.std))
    return ((pixels * encoding.scale - mean) / std).to(dtype)


def unlike_values(values: torch.Tensor) -> list[torch.Tensor]:
    """Of one sign, or all alike: what a model may decide by its data comes out otherwise for one of them."""
    return [-values.abs(), torch.zeros_like(values), values.abs() * _LARGE]


def _kind_of(returned: object) -> str:
    """For messages: "a tuple of 3 tensors", "a list of dict"."""
    if not isinstance(returned, (tuple, list)):
        return f"a {type(returned).__name__}"
    parts = {"tensors" if isinstance(part, torch.Tensor) else type(part).__name__ for part in returned}
    many = str(len(returned)) if isinstance(returned, tuple) else ""
    return " ".join(["a", type(returned).__name__, "of", *filter(None, [many]), *sorted(parts)])


def _from_dict(returned: dict[Any, Any], names: Names) -> tuple[Any, ...]:
    if names is None:
        keys = ",".join(map(str, returned))
        raise ModelError(f"the model returns a dict: name what is wanted of it, as in --output-names {keys}")
    if missing := [name for name in names if name not in returned]:
        keys = ", ".join(map(str, returned))
        raise ModelError(f"the model returns a dict without the output '{missing[0]}'; it has {keys}")
    return tuple(returned[name] for name in names)


def wanted_of(returned: Any, names: Names) -> Outputs:
    """The tensors that are wanted: of a tuple or list its first ones, of a dict by name. Raises ModelError."""
    if isinstance(returned, torch.Tensor):
        found: tuple[Any, ...] = (returned,)
    elif isinstance(returned, dict):
        found = _from_dict(returned, names)
    elif isinstance(returned, (tuple, list)):
        found = tuple(returned) if names is None else tuple(returned[: len(names)])
    else:
        found = ()
    if not found or not all(isinstance(output, torch.Tensor) for output in found):
        raise ModelError(f"the model returns {_kind_of(returned)}, expected tensors; wrap it in a module of yours")
    if names is not None and len(found) < len(names):
        raise ModelError(f"the number of tensors that the model returns is {len(found)}, that of the names {len(names)}")
    return found


def _check(output: torch.Tensor, batch_shape: list[int], may_be_infinite: bool) -> None:
    if output.dtype not in (*TOLERANCE, *INTEGERS):
        names = [str(dtype).removeprefix("torch.") for dtype in (output.dtype, *TOLERANCE, *INTEGERS)]
        raise ModelError(f"the model returns a tensor of {names[0]}, expected {', '.join(names[1:])}")
    if output.ndim == 0 or len(output) != batch_shape[0]:
        raise ModelError(f"the model returns the shape {list(output.shape)} for {batch_shape[0]} samples")
    if not may_be_infinite and not output.isfinite().all():
        raise ModelError(f"the model returns NaN or Inf for a random batch {batch_shape}")


def run_module(module: Forward, batch: Batch, names: Names = None, may_be_infinite: bool = False) -> Outputs:
    """The tensors that are wanted of what the module returns; finite. Raises ModelError for anything else."""
    shape = list(batch[0].shape)
    try:
        with torch.inference_mode():
            returned = module(*batch)
    except ModelError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines() or [""]
        raise ModelError(f"the model fails on a batch {shape}: {type(error).__name__}: {reason[-1]}") from error
    outputs = wanted_of(returned, names)
    for output in outputs:
        _check(output, shape, may_be_infinite)
    return outputs


def _same(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Of one shape. Integers are the very same."""
    if found.dtype != expected.dtype:
        return False
    if expected.dtype in INTEGERS or expected.numel() == 0:
        return torch.equal(found, expected)
    finite = expected.isfinite()
    if not _infinite_alike(found, finite):
        return False
    found, expected = found[finite & found.isfinite()], expected[finite & found.isfinite()]
    if expected.numel() == 0:
        return True
    largest = expected.double().abs().max().clamp_min(1e-6)
    difference = (found.double() - expected.double()).abs().max()
    return bool(difference <= TOLERANCE[expected.dtype] * largest)


def _infinite_alike(found: torch.Tensor, finite: torch.Tensor) -> bool:
    """Compiled code of lower precision may keep numbers that overflow one by one."""
    if found.dtype == torch.float32:
        return torch.equal(found.isfinite(), finite)
    return bool(found.isfinite()[finite].all())


def differ(found: Outputs, expected: Outputs) -> bool:
    """By more than kernels that are chosen otherwise explain."""
    return len(found) != len(expected) or not all(
        one.shape == other.shape and _same(one, other) for one, other in zip(found, expected, strict=True)
    )


def reproduces(exported: Forward, module: Forward, checks: Checks) -> str | None:
    """None, or what differs."""
    for batch in checks.usual:
        expected = run_module(module, batch, checks.names)
        try:
            found = run_module(exported, batch, checks.names)
        except ModelError as error:
            return str(error)
        if differ(found, expected):
            return f"it gives other results than the model on a batch {list(batch[0].shape)}"
    reasons = (_reproduces_unlike(exported, module, batch, checks.names) for batch in checks.unlike)
    return next((reason for reason in reasons if reason is not None), None)


def _reproduces_unlike(exported: Forward, module: Forward, batch: Batch, names: Names) -> str | None:
    """As reproduces. A batch that the module fails on, or gives unsteady results for, says nothing."""
    try:
        expected = run_module(module, batch, names, may_be_infinite=True)
    except ModelError:
        return None
    what = f"a batch {list(batch[0].shape)} of {_values_of(batch[0])}"
    try:
        found = run_module(exported, batch, names, may_be_infinite=True)
    except ModelError as error:
        return f"on {what}: {error}"
    if not differ(found, expected) or differ(_nearby(module, batch, names), expected):
        return None
    return f"it gives other results than the model on {what}"


def _nearby(module: Forward, batch: Batch, names: Names) -> Outputs:
    """Of numbers that differ from the batch's by rounding: where all scores tie, which is the best is chance."""

    def moved(values: torch.Tensor) -> torch.Tensor:
        if values.dtype in INTEGERS:
            return values
        noise = torch.randn(values.shape, generator=torch.Generator().manual_seed(0)).to(values)
        return values + noise * values.abs().clamp_min(1) * 4 * torch.finfo(values.dtype).eps

    return run_module(module, tuple(map(moved, batch)), names, may_be_infinite=True)


def _values_of(values: torch.Tensor) -> str:
    if values.dtype in INTEGERS:
        return "other tokens"
    if not values.any():
        return "zeros"
    return "negative numbers" if (values <= 0).all() else "large numbers"
