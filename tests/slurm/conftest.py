# SPDX-License-Identifier: Apache-2.0
"""One cluster for all tests of a file, started for them and always stopped."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("data_tools", "tests/support", "tests/end_to_end/support")]

import small  # noqa: E402
from cluster import CANNOT_RUN_HERE, Cluster  # noqa: E402
from launch import Program, environment  # noqa: E402
from slow_jobs import save_slow_model  # noqa: E402

SKIPPED = 77


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "ignore:`torch.jit:DeprecationWarning")


@pytest.fixture(scope="session")
def tally() -> Program:
    binary = os.environ.get("TALLY_BIN")
    if not binary:
        pytest.exit("TALLY_BIN does not name the program under test; run these tests through ctest", returncode=2)
    return Program(Path(binary), "mpirun")


@contextmanager
def cluster_of(tally: Program) -> Iterator[Cluster]:
    """Its commands; a test starts it. What runs then ends with the block."""
    # Not below pytest's folder: paths of sockets may have 108 characters, and munge wants to be reached by all.
    folder = Path(tempfile.mkdtemp(prefix="tally-slurm-"))
    folder.chmod(0o711)
    # These tests may themselves run in a job of another Slurm.
    own = {name: value for name, value in environment().items() if not name.startswith(("SLURM", "SBATCH", "PMI"))}
    one = Cluster(folder / "cluster", own | {"TALLY_BIN": str(tally.binary)})
    try:
        yield one
    finally:
        one.tool("clean")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_cluster(tally: Program) -> Iterator[Cluster]:
    with cluster_of(tally) as one:
        yield one


def start_or_skip(one: Cluster, **variables: object) -> None:
    started = one.tool("start", **variables)
    if started.returncode == CANNOT_RUN_HERE:
        pytest.exit(f"skipped: {started.stderr.strip().splitlines()[-1]}", returncode=SKIPPED)
    assert started.returncode == 0, started.stderr


@pytest.fixture(scope="session")
def cluster(tally: Program) -> Iterator[Cluster]:
    with cluster_of(tally) as one:
        start_or_skip(one)
        yield one


@dataclass(frozen=True)
class Case:
    """A data set and a model for it, and the digests of their evaluation by one process."""

    data: Path
    model: Path
    digests: tuple[str, str]

    @property
    def options(self) -> list[object]:
        return ["--model", self.model, "--data", self.data, "--progress", "off"]


def digests_of(folder: Path) -> tuple[str, str]:
    digests = small.report(folder)["digests"]
    return digests["state"], digests["predictions"]


def make_case(tally: Program, folder: Path, data: Path, model: Path) -> Case:
    tally("evaluate", "--model", model, "--data", data, "--output", folder / "alone").must_succeed()
    return Case(data, model, digests_of(folder / "alone"))


@pytest.fixture(scope="session")
def digits(tally: Program, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """scikit-learn's handwritten digits and the network of the example, with seeded weights."""
    folder = tmp_path_factory.mktemp("digits")
    data, model = folder / "digits.h5", folder / "digits.pt"

    def tool(name: str, *words: object) -> None:
        subprocess.run([sys.executable, ROOT / "data_tools" / name, *map(str, words)], check=True, capture_output=True)

    tool("prepare_digits.py", "--split", "test", "--output", data)
    tool("export_model.py", "--model", f"{ROOT / 'examples/digits/model.py'}:digits_convnet",
         "--input-shape", "1,8,8", "--output", model)  # fmt: skip
    return make_case(tally, folder, data, model)


@pytest.fixture(scope="session")
def tiny(tally: Program, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The synthetic set of a few kilobytes."""
    folder = tmp_path_factory.mktemp("tiny")
    data = small.make_set().write(folder / "tiny.h5")
    model = small.save_model(small.TinyNet(), folder / "tiny.pt", json.dumps(small.card()))
    return make_case(tally, folder, data, model)


@pytest.fixture(scope="session")
def slow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_slow_model(0.8, tmp_path_factory.mktemp("slow") / "slow.pt")


@pytest.fixture
def probe(tmp_path: Path) -> Path:
    """Stands for tally where a test wants to know how the scripts start it: says what each rank was given."""
    path = tmp_path / "probe"
    path.write_text(
        "#!/bin/sh\n"
        'echo "probe $(hostname) ${OMPI_COMM_WORLD_LOCAL_RANK:-$SLURM_LOCALID}'
        ' ${CUDA_VISIBLE_DEVICES-unset} $SLURM_CPUS_PER_TASK $*"\n'
    )
    path.chmod(0o755)
    return path
