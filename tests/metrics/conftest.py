"""The cases and Tally's figures of them, once for all tests; warnings of packages about odd cases are no news."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import label_cases
import pytest
import sklearn
import torch
from cases import Case, all_cases


@pytest.fixture(scope="session", name="cases")
def cases_fixture(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    torch.set_num_threads(1)
    return all_cases(tmp_path_factory.mktemp("cases"))


def scored(make, folder: Path) -> list[label_cases.Case]:
    return label_cases.score([make(seed) for seed in range(label_cases.CASES)], folder)


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> list[label_cases.Case]:
    return scored(label_cases.binary_case, tmp_path_factory.mktemp("binary"))


@pytest.fixture(scope="session")
def multilabel(tmp_path_factory: pytest.TempPathFactory) -> list[label_cases.Case]:
    return scored(label_cases.multilabel_case, tmp_path_factory.mktemp("multilabel"))


@pytest.fixture
def fast_and_quiet() -> Iterator[None]:
    """Undefined figures are what the cases are made for."""
    with warnings.catch_warnings(), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore")
        yield


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "ignore::UserWarning")
    config.addinivalue_line("filterwarnings", "ignore::RuntimeWarning")
