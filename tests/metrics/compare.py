# SPDX-License-Identifier: Apache-2.0
"""How figures are compared, and where Tally deliberately says something else than torchmetrics."""

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from cases import Case

TO_TORCHMETRICS = 2e-6  # it computes in float32
TO_DOUBLE = 1e-12

Figure = Callable[[Case], object]


def as_array(value: object) -> np.ndarray:
    """Undefined is NaN: Tally's None, another package's NaN."""
    return np.asarray(value, np.float64)


def agrees(ours: object, other: object, tolerance: float) -> bool:
    ours, other = as_array(ours), as_array(other)
    bound = tolerance * np.maximum(1, np.abs(other))
    same = np.isclose(ours, other, rtol=0, atol=0, equal_nan=True) | (np.abs(ours - other) <= bound)
    return ours.shape == other.shape and bool(same.all())


def check(cases: Iterable[Case], ours: Figure, other: Figure, tolerance: float, least: int = 200) -> None:
    """`ours` and `other` agree in each of at least so many cases."""
    wrong, compared = [], 0
    for case in cases:
        compared += 1
        a, b = as_array(ours(case)), as_array(other(case))
        if not agrees(a, b, tolerance):
            worst = np.nanmax(np.abs(a - b)) if a.shape == b.shape else (a.shape, b.shape)
            wrong.append(f"{case.name}: {a if a.ndim == 0 else ''} differs by {worst}")
    assert not wrong, "\n".join(wrong)
    assert compared >= least


@dataclass
class Deviation:
    metrics: tuple[str, ...]  # patterns of names
    applies: Callable[[Case], bool]
    reason: str


def has_no_scored_sample(case: Case) -> bool:
    return len(case.y) == 0


def is_binary_with_an_empty_margin(case: Case) -> bool:
    return case.classes == 2 and (len(np.unique(case.y)) == 1 or len(np.unique(case.prediction)) == 1)


def bins_of(confidence: torch.Tensor, bins: int) -> torch.Tensor:
    return torch.bucketize(confidence, torch.linspace(0, 1, bins + 1), right=True)


def rounds_into_another_bin(case: Case) -> bool:
    in_double = torch.from_numpy(case.confidence.astype(np.float32))
    in_float = case.torch_probabilities[torch.from_numpy(case.keep)].max(1).values
    return not torch.equal(bins_of(in_double, case.bins), bins_of(in_float, case.bins))


DEVIATIONS = {
    "no scored sample": Deviation(
        ("*",), has_no_scored_sample, "undefined (null); torchmetrics gives 0 or NaN, as it happens, or fails"),
    "mcc of two classes": Deviation(
        ("mcc",), is_binary_with_an_empty_margin,
        "0, as scikit-learn; torchmetrics gives 1, -1 or a value that hangs on an epsilon"),
    "confidence at an edge": Deviation(
        ("ece", "calibration_error_*"), rounds_into_another_bin,
        "the confidence is computed in double and rounded once; a softmax in float32 may fall into the next bin"),
}  # fmt: skip


def not_deviating(cases: Iterable[Case], metric: str) -> list[Case]:
    listed = [one for one in DEVIATIONS.values() if any(fnmatch.fnmatch(metric, name) for name in one.metrics)]
    return [case for case in cases if not any(one.applies(case) for one in listed)]
