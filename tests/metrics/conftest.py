"""The cases and Tally's figures of them, once for all tests; warnings of packages about odd cases are no news."""

import pytest
import torch
from cases import Case, all_cases


@pytest.fixture(scope="session", name="cases")
def cases_fixture(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    torch.set_num_threads(1)
    return all_cases(tmp_path_factory.mktemp("cases"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "ignore::UserWarning")
    config.addinivalue_line("filterwarnings", "ignore::RuntimeWarning")
