# SPDX-License-Identifier: Apache-2.0
"""Real networks over real data give the figures that are known for them, and the same bits on any number of ranks."""

from pathlib import Path

import pytest
import small
import torch
from conftest import Evaluate
from known_results import check_known, check_same_digests
from launch import Program
from prepared import Prepared
from references import NAMES, by_torchmetrics


@pytest.fixture(scope="module")
def prepared(data_dir: Path, cache_dir: Path) -> Prepared:
    return Prepared(data_dir, cache_dir)


def test_a_small_network_on_1_2_3_5_and_8_ranks(prepared: Prepared, evaluate: Evaluate) -> None:
    network = "cifar_resnet20"
    model, data = prepared.trained_model(network), prepared.data_of(network)
    results = [evaluate(model, data, ranks=ranks) for ranks in (1, 2, 3, 5, 8)]
    check_known(results[0], network)
    check_same_digests(results)


@pytest.mark.parametrize("network", ["mnist_convnet", "cifar_resnet20", "squeezenet1_1"])
def test_figures_on_1_and_3_ranks_are_those_of_torchmetrics(network: str, prepared: Prepared, evaluate: Evaluate) -> None:
    model, data = prepared.trained_model(network), prepared.data_of(network)
    options = ["--metrics", NAMES, "--save", "labels,logits"]
    results = [evaluate(model, data, *options, ranks=ranks, limit_s=200) for ranks in (1, 3)]
    check_known(results[0], network)
    check_same_digests(results)
    assert [result.report["diagnosis"] for result in results] == [[], []]
    columns = small.columns(results[0].folder / "predictions.h5")
    logits, labels = torch.from_numpy(columns["logits"]), torch.from_numpy(columns["label"])
    found = {name: entry["value"] for name, entry in results[0].report["metrics"].items()}
    expected = by_torchmetrics(logits, labels, are_log_probabilities=network == "mnist_convnet")
    assert found == pytest.approx(expected, rel=2e-6, abs=2e-6)
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-12)


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
@pytest.mark.parametrize("network", ["mnist_convnet", "cifar_resnet32"])
def test_weights_given_to_a_model_of_other_weights(
    network: str, suffix: str, prepared: Prepared, evaluate: Evaluate
) -> None:
    model, data = prepared.untrained_model(network), prepared.data_of(network)
    weights = prepared.weights(network, suffix)
    result = evaluate(model, data, "--weights", weights, ranks=2)
    check_known(result, network)
    assert result.report["inputs"]["weights"]["path"] == str(weights)


def test_weights_make_the_difference(prepared: Prepared, evaluate: Evaluate) -> None:
    network = "cifar_resnet20"
    data = prepared.data_of(network)
    untrained = evaluate(prepared.untrained_model(network), data)
    assert untrained.value("accuracy") < 0.3
    assert untrained.report["diagnosis"]
    swapped = evaluate(prepared.untrained_model(network), data, "--weights", prepared.weights(network, ".safetensors"))
    own = evaluate(prepared.trained_model(network), data)
    check_known(swapped, network)
    # Other model bytes, so another class, but the same arithmetic.
    assert swapped.digests == own.digests
    assert swapped.report["digests"]["class"] != own.report["digests"]["class"]


def test_batch_size_changes_the_grid_but_not_the_result(prepared: Prepared, evaluate: Evaluate) -> None:
    network = "cifar_resnet20"
    model, data = prepared.trained_model(network), prepared.data_of(network)
    result = evaluate(model, data, "--batch-size", 7, ranks=2)
    check_known(result, network)
    assert result.report["plan"]["batches"] == 143


def test_torchscript_of_pytorch_1_1_is_refused(prepared: Prepared, tally: Program, tmp_path: Path) -> None:
    model = prepared.data_dir / "mnist-convnet" / "mnist_cnn.pt"
    arguments = ["--model", model, "--data", prepared.data_of("mnist_convnet"), "--output", tmp_path / "run"]
    tally("evaluate", *arguments, ranks=2).must_fail(4, "mnist_cnn.pt", "export_model.py")
    assert not (tmp_path / "run").exists()
