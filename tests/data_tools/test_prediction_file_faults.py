# SPDX-License-Identifier: Apache-2.0
"""prepare_predictions: files of predictions, and data sets, that cannot be read, or not as they were given."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_prepare_predictions import CLASSES, NAME, SAMPLES, scores, write_data

from conftest import Tool


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("set") / "set.h5")


@pytest.fixture
def parquet() -> Any:
    pytest.importorskip("pyarrow", reason="pyarrow, which reads parquet, is not installed")
    return pytest.importorskip("pyarrow.parquet")


def test_lists_beside_other_columns(parquet: Any, data: Path, tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    import pyarrow

    columns = {"logits": list(scores(CLASSES)), "label": np.arange(SAMPLES)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "in.parquet")
    words = ["--input", tmp_path / "in.parquet", "--data", data, "--outputs", "logits"]
    fail(NAME, *words, code=2, says="has lists of values in the column 'logits', and the columns 'label' beside it: name the one")
    succeed(NAME, *words, "--columns", "logits", "--output", tmp_path / "a.h5")
