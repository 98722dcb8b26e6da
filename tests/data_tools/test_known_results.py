# SPDX-License-Identifier: Apache-2.0
"""The known results of real networks on real data: from files that the tools wrote, by a plain PyTorch loop."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from oracle import Result, evaluate

from conftest import NEEDS_PROGRAM, SUPPORT, Tool

CIFAR = "cifar10-test1000/test_batch_first1000.bin"
IMAGENET = "imagenet-val-1300/ILSVRC2012_VAL_SET.tar"
SQUEEZENET = "imagenet-weights/squeezenet_v1.1"
SAFE = ".safetensors"
# network, raw weights, form of the state_dict, prepare tool, its input, top-1, top-5, loss
CASES = [
    ("mnist_convnet", "mnist-convnet/mnist_cnn", ".pth", "prepare_mnist", "mnist", 9914, 10000, 0.0325694221),
    ("cifar_resnet20", "cifar10-nets/resnet20-12fca82f", SAFE, "prepare_cifar10", CIFAR, 915, 998, 0.384204891),
    ("cifar_resnet32", "cifar10-nets/resnet32-d509ac18", ".pth", "prepare_cifar10", CIFAR, 928, 999, 0.314642254),
    ("squeezenet1_1", SQUEEZENET, ".pth", "prepare_imagefolder", IMAGENET, 946, 1181, 1.177378825),
]  # fmt: skip
FIRST_LOGITS = {
    "cifar_resnet20": [
        -5.30968,
        -0.49577,
        0.87726,
        23.73051,
        -4.10504,
        4.46373,
        -0.23435,
        -5.41793,
        -3.71179,
        -9.88218,
    ],
    "cifar_resnet32": [
        -0.36899,
        1.34328,
        -1.05587,
        18.44101,
        -6.10089,
        0.61108,
        -1.88808,
        -2.46268,
        -3.8274,
        -4.66052,
    ],
}


def extra_options(tool_name: str, folder: Path) -> list[object]:
    if tool_name != "prepare_imagefolder":
        return []
    labels = folder / "imagenet-val-1300" / "val.txt"
    return ["--labels", labels, "--scale", 1, "--mean", "123,117,104", "--std", 1]


def check_first_logits(network: str, result: Result) -> None:
    if network in FIRST_LOGITS:
        assert torch.allclose(result.logits[0], torch.tensor(FIRST_LOGITS[network]), atol=2e-4)


@NEEDS_PROGRAM
@pytest.mark.parametrize(("network", "raw", "form", "prepare", "source", "top1", "top5", "loss"), CASES)
def test_known_result(
    tmp_path: Path, data_folder: Path, succeed: Tool, convert: Callable[[str, Path, Path], None],
    network: str, raw: str, form: str, prepare: str, source: str, top1: int, top5: int, loss: float,
) -> None:  # fmt: skip
    weights, model, data = tmp_path / f"w{form}", tmp_path / "m.pt", tmp_path / "d.h5"
    convert(network, data_folder / raw, weights)
    model_name = f"{SUPPORT / 'models.py'}:{network}"
    succeed(
        "export_model",
        "--model",
        model_name,
        "--weights",
        weights,
        "--format",
        "torchscript",
        "--output",
        model,
    )
    succeed(prepare, "--input", data_folder / source, "--output", data, *extra_options(prepare, data_folder))
    result = evaluate(model, data)
    assert result.correct == pytest.approx(top1, abs=1)
    assert result.correct_in(5) == pytest.approx(top5, abs=1)
    assert result.loss == pytest.approx(loss, abs=2e-5)
    check_first_logits(network, result)
