# SPDX-License-Identifier: Apache-2.0
"""--precision: models cast at load, packages with their precision built in, and what is refused."""

import os
from pathlib import Path

import amx
import pytest
from conftest import Evaluate, Small
from known_results import KNOWN, check_known, check_same_digests
from launch import Program
from prepared import Prepared


@pytest.fixture(scope="module")
def prepared(data_dir: Path, cache_dir: Path) -> Prepared:
    return Prepared(data_dir, cache_dir)


def correct(result) -> int:  # noqa: ANN001
    return round(result.value("accuracy") * result.report["samples"]["evaluated"])


def test_fp32_is_the_models_own(prepared: Prepared, evaluate: Evaluate) -> None:
    network = "cifar_resnet20"
    model, data = prepared.trained_model(network), prepared.data_of(network)
    own, same = evaluate(model, data), evaluate(model, data, "--precision", "fp32")
    check_known(same, network)
    assert own.digests == same.digests
    # What was asked for is a part of the class, even where it changes nothing.
    assert own.report["digests"]["class"] != same.report["digests"]["class"]
    assert (own.report["config"]["precision"], same.report["config"]["precision"]) == ("model", "fp32")


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("network", ["mnist_convnet", "cifar_resnet20"])
def test_small_networks_lose_little(network: str, precision: str, prepared: Prepared, evaluate: Evaluate) -> None:
    model, data = prepared.trained_model(network), prepared.data_of(network)
    results = [evaluate(model, data, "--precision", precision, ranks=ranks) for ranks in (1, 3)]
    check_same_digests(results)
    assert correct(results[0]) == pytest.approx(KNOWN[network][0], abs=6)
    assert results[0].digests != evaluate(model, data).digests


def has_bfloat16() -> bool:
    words = set(Path("/proc/cpuinfo").read_text().split())
    return bool(words & {"avx512_bf16", "amx_bf16", "bf16"})


SLOW = pytest.mark.skipif(not has_bfloat16(), reason="without bf16 instructions this takes minutes more")


@pytest.mark.parametrize("form", ["torchscript", pytest.param("package", marks=SLOW)])
def test_squeezenet_in_bf16(form: str, prepared: Prepared, evaluate: Evaluate) -> None:
    """A fifth of the images: without instructions for bf16 a rank gets through two in a second."""
    network = "squeezenet1_1"
    model, data = prepared.trained_model(network), prepared.data_of(network)
    options = ["--limit", 260]
    if form == "package":
        rounded = evaluate(prepared.package(network, "bf16"), data, *options, ranks=2, limit_s=400)
    else:
        rounded = evaluate(model, data, *options, "--precision", "bf16", ranks=2, limit_s=400)
    own = evaluate(model, data, *options, ranks=2)
    assert correct(rounded) == pytest.approx(correct(own), abs=2)
    assert rounded.digests != own.digests


def test_a_rounded_model_is_widened(prepared: Prepared, evaluate: Evaluate) -> None:
    """Its own weights stay rounded; weights that are given are not."""
    network = "cifar_resnet20"
    data, weights = prepared.data_of(network), prepared.weights(network, ".safetensors")
    rounded = prepared.rounded_model(network)
    assert correct(evaluate(rounded, data)) == pytest.approx(KNOWN[network][0], abs=6)
    check_known(evaluate(rounded, data, "--precision", "fp32", "--weights", weights), network)


def test_package_keeps_its_precision(prepared: Prepared, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    network = "cifar_resnet20"
    package, data = prepared.package(network), prepared.data_of(network)
    check_known(evaluate(package, data, "--precision", "fp32"), network)
    arguments = ["--model", package, "--data", data, "--output", tmp_path / "run", "--precision", "fp16"]
    wanted = "export_model.py --format pt2 --precision fp16"
    tally("evaluate", *arguments, ranks=2).must_fail(4, package.name, "compiled in fp32", wanted)


def test_tf32_is_for_gpus(tally: Program, small_case: Small, tmp_path: Path) -> None:
    arguments = ["--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
    tally("evaluate", *arguments, "--precision", "tf32").must_fail(5, "tf32", "--precision fp32")
    tally("evaluate", *arguments, "--precision", "fp8").must_fail(2, "--precision", "fp8")


def test_amx_is_left_out_only_where_it_cannot_run(tally: Program, evaluate: Evaluate, small_case: Small) -> None:
    result = evaluate(small_case.model, small_case.data, ranks=2)
    environment, must = result.report["environment"], bool(amx.caps())
    checked = tally("check", "--model", small_case.model, "--data", small_case.data).must_succeed()
    assert ("amx" in environment) == must
    assert any("AMX" in note for note in result.report["notes"]) == must
    assert ("AMX" in checked.stdout + checked.stderr) == must
    if not must:
        assert {name: environment.get(name) for name in amx.CAPS} == {name: os.environ.get(name) for name in amx.CAPS}
