# SPDX-License-Identifier: Apache-2.0
"""The cases and Tally's figures of them, once for all tests; warnings of packages about odd cases are no news."""

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import label_cases
import pytest
import sklearn
import torch
from cases import Case, all_cases, many_classes


@pytest.fixture(scope="session", name="cases")
def cases_fixture(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    torch.set_num_threads(1)
    return all_cases(tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="session")
def ranked(cases: list[Case], tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    """With more that have many classes."""
    return cases + many_classes(tmp_path_factory.mktemp("many_classes"))


def scored(make, folder: Path, seeds: Iterable[int] = range(label_cases.CASES)) -> list[label_cases.Case]:
    return label_cases.score([make(seed) for seed in seeds], folder)


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> list[label_cases.Case]:
    return scored(label_cases.binary_case, tmp_path_factory.mktemp("binary"))


@pytest.fixture(scope="session")
def multilabel(tmp_path_factory: pytest.TempPathFactory) -> list[label_cases.Case]:
    return scored(label_cases.multilabel_case, tmp_path_factory.mktemp("multilabel"))


@pytest.fixture(scope="session")
def many_binary(binary: list[label_cases.Case], tmp_path_factory: pytest.TempPathFactory) -> list[label_cases.Case]:
    more = range(label_cases.CASES, label_cases.MANY)
    return binary + scored(label_cases.binary_case, tmp_path_factory.mktemp("many_binary"), more)


@pytest.fixture(scope="session")
def many_multilabel(
    multilabel: list[label_cases.Case], tmp_path_factory: pytest.TempPathFactory
) -> list[label_cases.Case]:
    more = range(label_cases.CASES, label_cases.MANY)
    return multilabel + scored(label_cases.multilabel_case, tmp_path_factory.mktemp("many_multilabel"), more)


@pytest.fixture
def fast_and_quiet() -> Iterator[None]:
    """Undefined figures are what the cases are made for."""
    with warnings.catch_warnings(), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore")
        yield


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "ignore::UserWarning")
    config.addinivalue_line("filterwarnings", "ignore::RuntimeWarning")
