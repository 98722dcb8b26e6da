"""Cases of which all are computed once, on 1, 2, 3 and 5 ranks."""

import cases
import pytest

CURVES = [cases.make_curve_case(seed) for seed in range(216)] + [
    cases.make_curve_case(1001, "multiclass", 1000, 150),
    cases.make_curve_case(1002, "multiclass", 60, 40),
    cases.make_curve_case(1004, "multiclass", 2, 400),
    cases.make_curve_case(1006, "labels", 2, 0),
]
RANKS = [cases.make_rank_case(seed) for seed in range(40)]


@pytest.fixture(scope="session", autouse=True)
def results(tmp_path_factory):
    cases.run(tmp_path_factory.mktemp("exchange"), CURVES + RANKS)


def pytest_generate_tests(metafunc):
    for name, known in (("curve_case", CURVES), ("rank_case", RANKS)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, known, ids=[case.name for case in known])
