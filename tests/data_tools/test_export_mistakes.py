# SPDX-License-Identifier: Apache-2.0
"""What export_model says where a user names the wrong thing: what it is, and what would be right."""

from pathlib import Path

import pytest
import timm
import torch
import torchvision
from oracle import load_model

from conftest import NEEDS_PROGRAM, Tool

NAME = "export_model"
NETS = Path(__file__).with_name("own_nets.py")
SMALL = "mobilenetv3_small_050"


@NEEDS_PROGRAM
def test_weights_for_other_classes(tmp_path: Path, fail: Tool) -> None:
    weights = tmp_path / "mine.pth"
    for model, module in (
        ("squeezenet1_1", torchvision.models.squeezenet1_1(num_classes=5)),
        (f"timm:{SMALL}", timm.create_model(SMALL, num_classes=5)),
    ):
        torch.save(module.state_dict(), weights)
        done = fail(NAME, "--model", model, "--weights", weights, code=4, says="of another shape or type: ")
        assert done.stderr.endswith(" --num-classes 5 would fit.\n")
    done = fail(NAME, "--model", f"timm:{SMALL}", "--num-classes", 7, "--weights", weights, code=4, says="")
    assert done.stderr.endswith(" --num-classes 5 would fit.\n")
    torch.save(torchvision.models.resnet18(num_classes=5).state_dict(), weights)
    done = fail(NAME, "--model", "resnet34", "--weights", weights, code=4, says="missing: ")
    assert "would fit" not in done.stderr and "timm" not in done.stderr.partition("missing")[0]


@NEEDS_PROGRAM
def test_weights_of_something_else_in_the_same_shape(tmp_path: Path, fail: Tool) -> None:
    """Where not only the classifier is of another shape no number of classes would fit."""
    weights = tmp_path / "mine.pth"
    state = torchvision.models.squeezenet1_1().state_dict()
    torch.save(state | {"features.0.bias": torch.zeros(5)}, weights)
    says = "1 of another shape or type: features.0.bias"
    done = fail(NAME, "--model", "squeezenet1_1", "--weights", weights, code=4, says=says)
    assert "would fit" not in done.stderr


@NEEDS_PROGRAM
def test_weights_of_the_other_library(tmp_path: Path, fail: Tool) -> None:
    weights = tmp_path / "timm.pth"
    torch.save(timm.create_model("efficientnet_b0").state_dict(), weights)
    done = fail(NAME, "--model", "efficientnet_b0", "--weights", weights, code=4, says="missing: ")
    assert done.stderr.endswith(" The model is taken from torchvision; timm has one of this name, too: timm:efficientnet_b0.\n")
    done = fail(NAME, "--model", "torchvision:efficientnet_b0", "--weights", weights, code=4, says="missing: ")
    assert "timm has one" not in done.stderr


def test_no_function(tmp_path: Path, fail: Tool) -> None:
    path = tmp_path / "odd.py"
    path.write_text("import torch\nnet = torch.nn.Linear(2, 3)\ndef make(): return net\nclass Net(torch.nn.Module): pass\n")
    fail(NAME, "--model", path, code=4, says=f"'{path}' is a file: name a function of it, as in {path}:make; it has make, Net")
    says = f"'{path}:net' is a module (Linear), not a function that returns one: write 'def make(): return net', and name"
    fail(NAME, "--model", f"{path}:net", code=4, says=says)
    fail(NAME, "--model", f"{path}:other", code=4, says=f"'{path}' has no function 'other'; it has make, Net")
    fail(NAME, "--model", tmp_path / "none.py", code=4, says="none.py' does not exist")


@pytest.mark.parametrize(("function", "shape"), [("cifar_fixed", [3, 32, 32]), ("cifar_pooled", [3, "height", "width"])])
def test_a_net_for_small_images_without_its_input_shape(tmp_path: Path, succeed: Tool, function: str, shape: list) -> None:
    succeed(NAME, "--model", f"{NETS}:{function}", "--output", tmp_path / "m.pt")
    exported, card = load_model(tmp_path / "m.pt")
    assert card["inputs"][0]["shape"] == ["batch", *shape] and exported(torch.zeros(3, 3, 32, 32)).shape == (3, 10)
