# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the program, a small data set with its model, and where real data lies."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("data_tools", "tests/support", "tests/end_to_end/support")]

pytest.register_assert_rewrite("hostile_runs")  # a plugin of two test files

import amx  # noqa: E402
import small  # noqa: E402
from launch import Program, Run  # noqa: E402

amx.leave_out_broken_amx()


def pytest_configure(config: pytest.Config) -> None:
    # TorchScript is what tally evaluates; that PyTorch would rather not have it is known.
    config.addinivalue_line("filterwarnings", "ignore:`torch.jit:DeprecationWarning")


@pytest.fixture(scope="session")
def tally() -> Program:
    binary = os.environ.get("TALLY_BIN")
    if not binary:
        pytest.exit("TALLY_BIN does not name the program under test; run these tests through ctest", returncode=2)
    return Program(Path(binary), os.environ.get("TALLY_TEST_MPIEXEC", "mpirun"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets and trained weights."""
    folder = Path(os.environ.get("TALLY_DATA_DIR") or ROOT.parent / "shared" / "data-candidates")
    if not folder.is_dir():
        if "TALLY_REQUIRE_DATA" in os.environ:
            pytest.fail(f"{folder} does not exist (TALLY_DATA_DIR names the folder of real data sets)")
        pytest.skip(f"no data: {folder} does not exist (TALLY_DATA_DIR names the folder)")
    return folder


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared data sets and exported models, kept between runs."""
    folder = Path(os.environ.get("TALLY_TEST_CACHE") or tmp_path_factory.mktemp("cache"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True)
class Small:
    """A data set of 103 samples, and a model that is right for about half of them."""

    samples: small.SmallSet
    data: Path
    model: Path
    folder: Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a watch looks for checkpoints, empty."""
    path = tmp_path / "checkpoints"
    path.mkdir()
    return path


@pytest.fixture(scope="session")
def small_case(tmp_path_factory: pytest.TempPathFactory) -> Small:
    folder = tmp_path_factory.mktemp("small")
    samples = small.make_set()
    data = samples.write(folder / "small.h5")
    model = small.save_model(small.TinyNet(), folder / "tiny.pt", json.dumps(small.card()))
    return Small(samples, data, model, folder)


@dataclass(frozen=True)
class Result:
    """A finished evaluation and the files it left."""

    folder: Path
    report: dict
    run: Run

    @property
    def digests(self) -> tuple[str, str]:
        return self.report["digests"]["state"], self.report["digests"]["predictions"]

    def value(self, metric: str) -> float | None:
        return self.report["metrics"][metric]["value"]


Evaluate = Callable[..., Result]


@pytest.fixture(scope="session")
def evaluate(tally: Program, tmp_path_factory: pytest.TempPathFactory) -> Evaluate:
    """evaluate(model, data, *options, ranks=None): must succeed; each call has an output folder of its own."""

    def run(model: Path, data: Path, *options: object, ranks: int | None = None, limit_s: float = 120,
            env: dict[str, str] | None = None) -> Result:  # fmt: skip
        output = tmp_path_factory.mktemp("result") / "run"
        started = tally(
            "evaluate", "--model", model, "--data", data, "--output", output, "--progress", "off", *options,
            ranks=ranks, limit_s=limit_s, env=env,
        )  # fmt: skip
        started.must_succeed()
        return Result(output, small.report(output), started)

    return run


@pytest.fixture(scope="session")
def score(tally: Program, tmp_path_factory: pytest.TempPathFactory) -> Evaluate:
    """score(predictions, data, *options, ranks=None): must succeed; each call has an output folder of its own."""

    def run(predictions: Path, data: Path, *options: object, ranks: int | None = None, limit_s: float = 120) -> Result:
        output = tmp_path_factory.mktemp("result") / "run"
        words = ["--predictions", predictions, "--data", data, "--output", output, "--progress", "off", *options]
        started = tally("score", *words, ranks=ranks, limit_s=limit_s)
        started.must_succeed()
        return Result(output, small.report(output), started)

    return run
