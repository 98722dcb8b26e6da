# SPDX-License-Identifier: Apache-2.0
"""Which sample of a data set each row of predictions is of: each sample exactly once."""

from collections.abc import Sequence

import numpy as np

from .errors import DataError, UsageError
from .prediction_tables import INDEX, NAME, PredictionTable
from .scored_set import ScoredSet

ORDER = "order"
MATCHES = (INDEX, NAME, ORDER)
_LISTED = 10
_LONGEST = 64  # of a name in a message


def sample_places(table: PredictionTable, scored: ScoredSet, match: str | None, source: str) -> np.ndarray | None:
    """int64 [rows], the index of each row's sample; None: rows are in the data set's order.

    match: one of MATCHES, None: by the column that is there. source: the predictions, for messages.
    """
    keys = [name for name in (INDEX, NAME) if table.has_key(name)]
    if match is None:
        if len(keys) > 1:
            raise UsageError(f"'{source}' has both index and name: give --match index, --match name or --match order")
        match = keys[0] if keys else ORDER
    if match == ORDER:
        return None
    if match not in keys:
        raise UsageError(f"--match {match}: '{source}' has no such column")
    key = table.key(match)
    places = _by_index(key, scored.num_samples, source) if match == INDEX else _by_name(key, scored)
    _require_each_once(key, places, scored, match, source)
    return places


def _by_index(key: np.ndarray, num_samples: int, source: str) -> np.ndarray:
    """-1 for one that the data set does not have."""
    try:
        numbers = key.astype(np.int64)
    except (ValueError, OverflowError):
        numbers = None
    if key.ndim != 1 or numbers is None or (key.dtype.kind not in "iuU" and (numbers != key).any()):
        raise DataError(f"'{source}': the column {INDEX} holds something else than whole numbers")
    return np.where((numbers >= 0) & (numbers < num_samples), numbers, -1)


def _by_name(key: np.ndarray, scored: ScoredSet) -> np.ndarray:
    known: dict[str, int] = {}
    for number, name in enumerate(scored.sample_names()):
        if known.setdefault(name, number) != number:
            raise DataError(f"data set '{scored.path}' has two samples of the name '{name[:_LONGEST]}'; match by index")
    return np.array([known.get(name, -1) for name in key.astype(str).tolist()], np.int64)


def _require_each_once(key: np.ndarray, places: np.ndarray, scored: ScoredSet, match: str, source: str) -> None:
    times = np.bincount(places[places >= 0], minlength=scored.num_samples)
    if len(places) == scored.num_samples and (times == 1).all():
        return
    names = scored.sample_names() if match == NAME else range(scored.num_samples)
    found = {
        "missing": [names[at] for at in np.flatnonzero(times == 0)],
        "unknown": key[places < 0].tolist(),
        "there more than once": [names[at] for at in np.flatnonzero(times > 1)],
    }
    said = [f"{len(which)} {what} ({_listed(which)})" for what, which in found.items() if which]
    raise DataError(f"'{source}' does not have each sample of '{scored.path}' once, by {match}: {'; '.join(said)}")


def _listed(values: Sequence[object]) -> str:
    return ", ".join(str(value)[:_LONGEST] for value in values[:_LISTED]) + (", …" if len(values) > _LISTED else "")
