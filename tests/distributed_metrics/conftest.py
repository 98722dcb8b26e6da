# SPDX-License-Identifier: Apache-2.0
"""Cases of which all are computed once, on 1, 2, 3 and 5 ranks."""

import functools
import warnings
from collections.abc import Callable

import cases
import pytest
import sklearn
import torch

CURVES = [cases.make_curve_case(seed) for seed in range(660)] + [
    cases.make_curve_case(1001, "multiclass", 1000, 150),
    cases.make_curve_case(1002, "multiclass", 60, 40),
    cases.make_curve_case(1004, "multiclass", 2, 400),
    cases.make_curve_case(1006, "labels", 2, 0),
]
RANKS = [cases.make_rank_case(seed) for seed in range(420)]


@pytest.fixture(scope="session", autouse=True)
def results(tmp_path_factory):
    torch.set_num_threads(1)
    cases.run(tmp_path_factory.mktemp("distributed_metrics"), CURVES + RANKS)


@pytest.fixture(autouse=True)
def fast_and_quiet():
    """Undefined figures are what the cases are made for."""
    with warnings.catch_warnings(), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore")
        yield


def for_each(given: list[cases.Case]) -> Callable:
    """One test of all cases: as tests of their own they would cost several times what they check."""

    def decorate(check: Callable[[cases.Case], None]) -> Callable[[], None]:
        @functools.wraps(check)
        def test() -> None:
            failed = []
            for case in given:
                try:
                    check(case)
                except AssertionError as error:
                    failed.append(f"case {case.name}: {error}")
            assert not failed, f"{len(failed)} of {len(given)} cases\n" + "\n".join(failed[:20])

        del test.__wrapped__  # pytest would take the case for a fixture
        return test

    return decorate
