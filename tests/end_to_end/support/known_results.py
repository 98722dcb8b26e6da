# SPDX-License-Identifier: Apache-2.0
"""What real networks give on real data, and whether several results are the same."""

import itertools

import pytest
from conftest import Result

# network: correct, top-5, loss
KNOWN = {
    "mnist_convnet": (9914, 10000, 0.032569),
    "cifar_resnet20": (915, 998, 0.384205),
    "cifar_resnet32": (928, 999, 0.314642),
    "squeezenet1_1": (946, 1181, 1.17738),
}


def check_known(result: Result, network: str) -> None:
    correct, correct_top5, loss = KNOWN[network]
    total = result.report["samples"]["total"]
    assert result.report["samples"] | {"coverage": None} == {
        "total": total, "evaluated": total, "ignored": 0, "exactly_once": True, "coverage": None,
    }  # fmt: skip
    assert round(result.value("accuracy") * total) == pytest.approx(correct, abs=1)
    assert round(result.value("accuracy_top5") * total) == pytest.approx(correct_top5, abs=1)
    assert result.value("loss") == pytest.approx(loss, abs=2e-5)


def check_same_digests(results: list[Result]) -> None:
    for one, other in itertools.pairwise(results):
        assert one.digests == other.digests
        assert one.report["digests"]["class"] == other.report["digests"]["class"]
        assert one.report["metrics"] == other.report["metrics"]
        columns = [(result.folder / "predictions.h5").read_bytes() for result in (one, other)]
        assert columns[0] == columns[1]
