# SPDX-License-Identifier: Apache-2.0
"""Nothing asks LibTorch for CUDA before its CUDA half is open: it would remember that there is none.

That half is opened on GPUs, right before the model is loaded; until then a run on a CPU goes the same way.
"""

import os
from pathlib import Path

import pytest
from conftest import Evaluate, Small


@pytest.mark.parametrize("until", ["loading", "the end"])
def test_a_run_does_not_ask_before_the_model_is_loaded(
    until: str, small_case: Small, evaluate: Evaluate, tmp_path: Path
) -> None:
    library = os.environ.get("TALLY_TEST_CUDA_QUESTIONS")
    if not library:
        pytest.skip("TALLY_TEST_CUDA_QUESTIONS does not name the library that counts")
    counted = tmp_path / "questions"
    env = {"LD_PRELOAD": library, "CUDA_QUESTIONS": str(counted)}
    if until == "the end":  # to show that questions are counted
        env["CUDA_QUESTIONS_ALL"] = "1"
    evaluate(small_case.model, small_case.data, env=env)
    assert (int(counted.read_text()) > 0) == (until == "the end")
