# SPDX-License-Identifier: Apache-2.0
"""What runs must share that differ only in how the work was dealt out."""

import itertools

from conftest import Result

SAVED = {"predictions.h5", "predictions.json", "nbest.json"}


def check_same(results: list[Result]) -> None:
    """Figures, and each file that one of them saved, which predictions.h5 is one of, byte by byte."""
    for one, other in itertools.pairwise(results):
        for part in ("digests", "metrics", "groups"):
            assert one.report[part] == other.report[part], part
        saved = SAVED & {path.name for result in (one, other) for path in result.folder.iterdir()}
        assert "predictions.h5" in saved
        for name in sorted(saved):
            assert (one.folder / name).read_bytes() == (other.folder / name).read_bytes(), name
