# SPDX-License-Identifier: Apache-2.0
"""Measuring in turn: on a machine with other work only what ran beside each other can be compared."""

import statistics
from collections.abc import Callable, Mapping

Figures = Mapping[str, float]


def in_turn(works: Mapping[str, Callable[[], Figures]], rounds: int) -> dict[str, list[Figures]]:
    """Each work once in every round, in the order given; their figures by name."""
    found: dict[str, list[Figures]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            found[name].append(work())
    return found


def median(figures: list[Figures], key: str) -> float:
    return statistics.median(one[key] for one in figures)


def median_ratio(ours: list[Figures], others: list[Figures], key: str) -> float:
    """The median over the rounds of ours / other's."""
    return statistics.median(one[key] / other[key] for one, other in zip(ours, others, strict=True))
