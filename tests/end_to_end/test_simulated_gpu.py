# SPDX-License-Identifier: Apache-2.0
"""The whole program on the simulated GPU (tests/simulated_gpu) finds, bit for bit, what it finds on the CPU with
LibTorch's own kernels: for every task, on any number of ranks, in whatever order the GPU works."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Evaluate, Result, Small
from launch import Program
from prepared import Prepared
from small import report
from task_cases import TASK_CASES

SEEDS = itertools.count(1)  # another order for each run; a message of the GPU names it
ON_CPU = ("--device", "cpu", "--cpu-kernels", "torch", "--threads", 1)
ON_GPU = ("--device", "cuda", "--cuda-graphs", "off", "--threads", 1)
# Few samples: each access of a kernel is looked at.
NETWORKS = {"mnist_convnet": 300, "cifar_resnet20": 100, "cifar_resnet32": 40, "squeezenet1_1": 10}

OnGpu = Callable[..., Result]


@pytest.fixture(scope="module")
def prepared(data_dir: Path, cache_dir: Path) -> Prepared:
    return Prepared(data_dir, cache_dir)


@pytest.fixture(scope="module")
def on_gpu(tally: Program, tmp_path_factory: pytest.TempPathFactory) -> OnGpu:
    """on_gpu(model, data, *options, ranks=1): each rank has a simulated GPU of its own."""
    binary = os.environ.get("TALLY_TEST_SIMULATED_GPU")
    if not binary:
        pytest.skip("TALLY_TEST_SIMULATED_GPU does not name the program that has one")
    program = Program(Path(binary), tally.launcher)

    def run(model: Path, data: Path, *options: object, ranks: int = 1) -> Result:
        output = tmp_path_factory.mktemp("result") / "run"
        started = program(
            "evaluate", "--model", model, "--data", data, "--output", output, "--progress", "off", *ON_GPU, *options,
            ranks=ranks, limit_s=120, env={"TALLY_SIMULATED_GPUS": str(ranks), "TALLY_GPU_SEED": str(next(SEEDS))},
        )  # fmt: skip
        started.must_succeed()
        return Result(output, report(output), started)

    return run


def check_bits(on_gpu: OnGpu, evaluate: Evaluate, model: Path, data: Path, *options: object) -> None:
    expected = evaluate(model, data, *ON_CPU, *options)
    for ranks in (1, 2, 3):
        found = on_gpu(model, data, *options, ranks=ranks)
        assert found.digests == expected.digests, f"{ranks} ranks"
        assert found.report["metrics"] == expected.report["metrics"]
        assert {rank["device"] for rank in found.report["ranks"]} == {"cuda: simulated"}
        assert found.report["reduction"]["by"] == ("nccl" if ranks > 1 else "mpi")


@pytest.mark.parametrize("network", NETWORKS)
def test_trained_networks(network: str, prepared: Prepared, on_gpu: OnGpu, evaluate: Evaluate) -> None:
    model, data = prepared.trained_model(network), prepared.data_of(network)
    check_bits(on_gpu, evaluate, model, data, "--limit", NETWORKS[network], "--batch-size", 8)


@pytest.mark.parametrize("task", TASK_CASES)
def test_tasks(task: str, on_gpu: OnGpu, evaluate: Evaluate, tmp_path: Path) -> None:
    case = TASK_CASES[task](tmp_path)
    check_bits(on_gpu, evaluate, case.model, case.data, *case.options)


@pytest.mark.parametrize("save", ["none", "labels", "topk,probabilities,logits"])
def test_saved_columns(save: str, small_case: Small, on_gpu: OnGpu, evaluate: Evaluate) -> None:
    check_bits(on_gpu, evaluate, small_case.model, small_case.data, "--save", save, "--batch-size", 8)
