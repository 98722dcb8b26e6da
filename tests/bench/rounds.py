# SPDX-License-Identifier: Apache-2.0
"""Measuring in turn: on a machine with other work only what ran beside each other can be compared."""

import statistics
from collections.abc import Callable, Mapping

Figures = Mapping[str, float]


def in_turn(works: Mapping[str, Callable[[], Figures]], rounds: int) -> dict[str, list[Figures]]:
    """Each work once in every round, every other round from the last to the first; their figures by name."""
    found: dict[str, list[Figures]] = {name: [] for name in works}
    order = list(works)
    for _ in range(rounds):
        for name in order:
            found[name].append(works[name]())
        order.reverse()  # where the machine's speed drifts, none of them is always the later one
    return found


def median(figures: list[Figures], key: str) -> float:
    return statistics.median(one[key] for one in figures)


def median_ratio(ours: list[Figures], others: list[Figures], key: str) -> float:
    """The median over the rounds of ours / other's."""
    return statistics.median(_ratios(ours, others, key))


def ratio_of_fastest(ours: list[Figures], others: list[Figures], key: str) -> float:
    """Of a speed: that of the rounds which other work on the machine held up least."""
    return max(one[key] for one in ours) / max(one[key] for one in others)


def spread_of_ratio(ours: list[Figures], others: list[Figures], key: str) -> str:
    """The median over the rounds of ours / other's, and their quartiles."""
    ratios = _ratios(ours, others, key)
    if len(ratios) == 1:
        return f"{ratios[0]:.3f}"
    low, middle, high = statistics.quantiles(ratios, method="inclusive")
    return f"{middle:.3f} ({low:.3f}-{high:.3f})"


def range_of_ratio(ours: list[Figures], others: list[Figures], key: str) -> str:
    """The median over the rounds of ours / other's, the least and the most."""
    return text_of_range(_ratios(ours, others, key))


def text_of_range(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def _ratios(ours: list[Figures], others: list[Figures], key: str) -> list[float]:
    return [one[key] / other[key] for one, other in zip(ours, others, strict=True)]
