# SPDX-License-Identifier: Apache-2.0
"""With --device cuda: known figures, equal digests whoever adds up and however many ranks, and a host that never waits.

Skipped with the reason where there is no GPU; TALLY_REQUIRE_GPU=1 makes that a failure.
"""

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import Evaluate, Result, Small
from known_results import KNOWN, check_known
from launch import Program
from prepared import Prepared
from task_cases import TASK_CASES
from watch_runs import evaluated, write_checkpoint

RecordProperty = Callable[[str, object], None]
SHARED_GPU = {"TALLY_ALLOW_SHARED_GPU": "1"}


@pytest.fixture(scope="module", autouse=True)
def gpu(tally: Program, small_case: Small) -> None:
    run = tally("check", "--model", small_case.model, "--data", small_case.data, "--device", "cuda")
    if run.code == 0:
        return
    reason = run.errors[0] if run.errors else run.stderr
    if run.code != 5 or "no GPU" not in reason or "TALLY_REQUIRE_GPU" in os.environ:
        pytest.fail(reason)
    pytest.skip(f"skipped for want of a GPU: {reason}")


@pytest.fixture(scope="module")
def prepared(data_dir: Path, cache_dir: Path) -> Prepared:
    return Prepared(data_dir, cache_dir)


def check_same_digests(results: list[Result]) -> None:
    for one, other in itertools.pairwise(results):
        assert one.digests == other.digests
        assert one.report["metrics"] == other.report["metrics"]


@pytest.mark.parametrize("network", ["mnist_convnet", "cifar_resnet20", "cifar_resnet32", "squeezenet1_1"])
def test_known_figures(network: str, prepared: Prepared, evaluate: Evaluate) -> None:
    result = evaluate(prepared.trained_model(network), prepared.data_of(network), "--device", "cuda")
    check_known(result, network)
    assert result.report["ranks"][0]["device"].startswith("cuda")


@pytest.mark.parametrize("network", ["mnist_convnet", "cifar_resnet20"])
def test_ranks_that_share_a_gpu_give_the_digests_of_one(
    network: str, prepared: Prepared, evaluate: Evaluate
) -> None:
    model, data = prepared.trained_model(network), prepared.data_of(network)
    results = [evaluate(model, data, "--device", "cuda", ranks=ranks, env=SHARED_GPU) for ranks in (1, 2, 3)]
    check_same_digests(results)


@pytest.mark.parametrize("form", ["torchscript", "package"])
@pytest.mark.parametrize(
    ("network", "options"),
    [("mnist_convnet", ()), ("cifar_resnet20", ()), ("cifar_resnet20", ("--batch-size", 2, "--limit", 101))],
    ids=["mnist", "cifar", "cifar, batches of few samples"],
)
def test_replayed_graphs_give_the_bits_of_plain_runs(
    network: str, options: tuple, form: str, prepared: Prepared, evaluate: Evaluate, record_property: RecordProperty
) -> None:
    """Whether they are replayed is decided by timing them, and so depends on what else runs on the GPU and the host."""
    model = prepared.package(network, device="cuda") if form == "package" else prepared.trained_model(network)
    results = [
        evaluate(model, prepared.data_of(network), "--device", "cuda", "--cuda-graphs", graphs, "--save",
                 "labels,logits", *options, ranks=ranks, env=SHARED_GPU)
        for ranks in (1, 2)
        for graphs in ("off", "auto")
    ]  # fmt: skip
    check_same_digests(results)
    assert len({result.report["digests"]["class"] for result in results}) == 1
    graphs = [result.report["environment"]["cuda_graph"] for result in results]
    record_property("graphs", graphs)
    assert graphs[0] == graphs[2] == "not used"


def test_weights_are_swapped_under_replayed_graphs(
    tally: Program, small_case: Small, evaluate: Evaluate, tmp_path: Path
) -> None:
    """Each checkpoint of a watch gives the bits of an evaluation of its own."""
    folder, output = tmp_path / "checkpoints", tmp_path / "watch"
    folder.mkdir()
    for step in (1, 2, 3):
        write_checkpoint(folder, step)
    (folder / "done").touch()
    options = ("--batch-size", 8, "--device", "cuda")
    tally("watch", "--checkpoints", folder, "--output", output, "--model", small_case.model, "--data", small_case.data,
          "--poll", 0.05, *options).must_succeed()  # fmt: skip
    lines = evaluated(output)
    assert len({line["state_digest"] for line in lines}) == 3
    for line in lines:
        alone = evaluate(small_case.model, small_case.data, "--weights", line["path"], *options)
        report = json.loads((output / line["result"] / "report.json").read_text())
        assert (line["state_digest"], report["digests"]["predictions"]) == alone.digests


def test_nccl_and_mpi_add_up_to_the_same(small_case: Small, evaluate: Evaluate) -> None:
    results = [
        evaluate(small_case.model, small_case.data, "--device", "cuda", "--reduce", reduce, "--check-reduction", ranks=1)
        for reduce in ("nccl", "mpi")
    ]
    assert [result.report["reduction"]["by"] for result in results] == ["nccl", "mpi"]
    check_same_digests(results)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_trace_shows_what_the_gpu_did(ranks: int, small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    plain = evaluate(small_case.model, small_case.data, "--device", "cuda", "--batch-size", 8, ranks=1)
    traced = evaluate(small_case.model, small_case.data, "--device", "cuda", "--batch-size", 8, "--trace", file,
                      ranks=ranks, env=SHARED_GPU)  # fmt: skip
    check_same_digests([plain, traced])
    spans = [event for event in json.loads(file.read_text())["traceEvents"] if event["ph"] == "X"]
    begin_of = {}  # of the host's work on a batch
    for span in spans:
        if span["cat"] == "loop" and span["name"] == "prepare":
            begin_of[span["args"]["batch"]] = span["ts"]
    assert sorted(begin_of) == list(range(traced.report["plan"]["batches"]))
    for name in ("copy", "prepare", "forward", "metrics"):
        of_gpu = [span for span in spans if span["cat"] == "device" and span["name"] == name]
        assert sorted(span["args"]["batch"] for span in of_gpu) == sorted(begin_of)
        for span in of_gpu:  # the GPU follows the host, but for what their clocks are apart
            assert span["dur"] > 0
            assert span["ts"] > begin_of[span["args"]["batch"]] - 200


@pytest.mark.parametrize("save", ["labels", "topk,probabilities,logits", "none"])
def test_saved_columns_are_those_of_the_cpu(save: str, small_case: Small, evaluate: Evaluate) -> None:
    options = ["--save", save, "--batch-size", 16]
    on_gpu = evaluate(small_case.model, small_case.data, "--device", "cuda", *options)
    on_cpu = evaluate(small_case.model, small_case.data, "--device", "cpu", *options)
    assert on_gpu.value("accuracy") == on_cpu.value("accuracy")
    assert on_gpu.value("loss") == pytest.approx(on_cpu.value("loss"), rel=1e-6)
    if save == "none":
        return
    with h5py.File(on_gpu.folder / "predictions.h5") as gpu, h5py.File(on_cpu.folder / "predictions.h5") as cpu:
        assert set(gpu) == set(cpu)
        for name in gpu:
            exact = gpu[name].dtype.kind == "i"
            np.testing.assert_allclose(gpu[name][:], cpu[name][:], rtol=0 if exact else 1e-4, atol=0 if exact else 1e-5)


def check_columns(on_gpu: Path, on_cpu: Path) -> None:
    """Of two predictions.h5: integers and texts are equal, numbers nearly."""
    with h5py.File(on_gpu) as gpu, h5py.File(on_cpu) as cpu:
        names: list[str] = []
        cpu.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        assert "index" in names
        for name in names:
            found, expected = gpu[name][...], cpu[name][...]
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=name)
            else:
                assert np.array_equal(found, expected), name


@pytest.mark.parametrize("task", TASK_CASES)
def test_other_tasks_give_the_figures_of_the_cpu(task: str, evaluate: Evaluate, tmp_path: Path) -> None:
    case = TASK_CASES[task](tmp_path)
    on_cpu = evaluate(case.model, case.data, "--device", "cpu", *case.options)
    on_gpu = [
        evaluate(case.model, case.data, "--device", "cuda", *case.options, ranks=ranks, env=SHARED_GPU)
        for ranks in (1, 2)
    ]
    check_same_digests(on_gpu)
    assert on_gpu[0].report["ranks"][0]["device"].startswith("cuda")
    assert set(on_gpu[0].report["metrics"]) == set(on_cpu.report["metrics"])
    for name in on_cpu.report["metrics"]:
        assert on_gpu[0].value(name) == pytest.approx(on_cpu.value(name), rel=1e-6), name
    check_columns(on_gpu[0].folder / "predictions.h5", on_cpu.folder / "predictions.h5")


def test_two_ranks_on_one_gpu_are_refused(small_case: Small, tally: Program, tmp_path: Path) -> None:
    arguments = ["--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
    tally("evaluate", *arguments, "--device", "cuda", ranks=2, env={"CUDA_VISIBLE_DEVICES": "0"}).must_fail(5, "GPU")
    assert not (tmp_path / "run").exists()


def test_the_host_never_waits_in_the_loop(prepared: Prepared, evaluate: Evaluate, tmp_path: Path) -> None:
    """Whatever else waits (start, end), twice as many batches add nothing to it."""
    counter = os.environ.get("TALLY_TEST_COUNT_WAITS")
    if not counter:
        pytest.skip("TALLY_TEST_COUNT_WAITS does not name the library that counts")
    preload = {} if counter == "itself" else {"LD_PRELOAD": counter}  # itself: the program counts
    waits = []
    for limit in (4800, 9600):  # 300 and 600 batches: counts are fetched now and then
        counted = tmp_path / f"{limit}"
        evaluate(
            prepared.trained_model("mnist_convnet"), prepared.data_of("mnist_convnet"), "--device", "cuda",
            "--limit", limit, "--batch-size", 16, env=preload | {"TALLY_TEST_WAITS": str(counted)},
        )  # fmt: skip
        waits.append(int(counted.read_text()))
    assert waits[0] == waits[1] > 0


@pytest.mark.parametrize("precision", ["tf32", "bf16", "fp16", "amp-bf16", "amp-fp16"])
@pytest.mark.parametrize("network", ["cifar_resnet20", "squeezenet1_1"])
def test_other_precisions_cost_little(
    network: str, precision: str, prepared: Prepared, evaluate: Evaluate, record_property: RecordProperty
) -> None:
    result = evaluate(
        prepared.trained_model(network), prepared.data_of(network), "--device", "cuda", "--precision", precision
    )
    total = result.report["samples"]["total"]
    correct = round(result.value("accuracy") * total)
    record_property("correct", correct)
    assert correct == pytest.approx(KNOWN[network][0], abs=0.01 * total)


@pytest.mark.parametrize("network", ["mnist_convnet", "cifar_resnet20", "squeezenet1_1"])
def test_packages_compiled_for_this_gpu(network: str, prepared: Prepared, evaluate: Evaluate) -> None:
    package, data = prepared.package(network, device="cuda"), prepared.data_of(network)
    results = [evaluate(package, data, "--device", "cuda", ranks=ranks, env=SHARED_GPU) for ranks in (1, 2)]
    check_known(results[0], network)
    check_same_digests(results)


def test_a_package_for_the_cpu_is_refused(prepared: Prepared, tally: Program, tmp_path: Path) -> None:
    model, data = prepared.package("cifar_resnet20"), prepared.data_of("cifar_resnet20")
    arguments = ["--model", model, "--data", data, "--output", tmp_path / "run", "--device", "cuda"]
    tally("evaluate", *arguments).must_fail(4, "--device cuda")
