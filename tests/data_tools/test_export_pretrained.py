# SPDX-License-Identifier: Apache-2.0
"""export_model --pretrained: the libraries' own weights, loaded by the libraries from their caches, never from elsewhere."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from library_caches import caches, no_network, publish_timm, publish_torchvision, torch_file
from oracle import load_model
from tally_data.errors import ModelError, UsageError

from conftest import TOOLS, Tool
from tally_export.constructor import Asked
from tally_export.resolve import find_model

__all__ = ["caches", "no_network"]
NAME = "export_model"
SMALL = "mobilenetv3_small_050"
FETCH = '"$TALLY_PYTHON" -c "import'


@torch.inference_mode()
def check_same(found: torch.nn.Module, expected: torch.nn.Module, side: int) -> None:
    pixels = torch.randn(2, 3, side, side)
    assert torch.allclose(found.eval()(pixels), expected.eval()(pixels), rtol=1e-4, atol=1e-5)


def test_torchvision(caches: Path, monkeypatch: pytest.MonkeyPatch, succeed: Tool) -> None:
    module = torchvision.models.squeezenet1_1()
    weights = torchvision.models.SqueezeNet1_1_Weights.IMAGENET1K_V1
    path = publish_torchvision(caches, monkeypatch, weights, module.state_dict())
    done = succeed(NAME, "--model", "squeezenet1_1", "--pretrained", "--output", caches / "m.pt")
    assert done.stdout.splitlines()[-1].endswith("weights IMAGENET1K_V1") and "note" not in done.stdout and done.stderr == ""
    exported, card = load_model(caches / "m.pt")
    check_same(exported, module, 224)
    assert card["source"]["weights"] == {
        "tag": "IMAGENET1K_V1", "path": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }  # fmt: skip
    assert card["recipe"]["source"] == f"torchvision:{weights}" and card["recipe"]["resize"] == [256, 256]


def test_torchvision_does_more_than_load(caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It renames old keys (DenseNet), and sets up some networks otherwise than without weights (GoogLeNet)."""
    models = torchvision.models
    module = models.densenet121()
    state = {name: value for name, value in module.state_dict().items() if not name.endswith("num_batches_tracked")}
    old = {name.replace("norm1", "norm.1").replace("conv2", "conv.2"): value for name, value in state.items()}
    publish_torchvision(caches, monkeypatch, models.DenseNet121_Weights.DEFAULT, old)
    check_same(find_model("densenet121", Asked(pretrained="")).module, module, 64)
    inception = models.googlenet(init_weights=False)
    publish_torchvision(caches, monkeypatch, models.GoogLeNet_Weights.DEFAULT, inception.state_dict())
    found = find_model("googlenet", Asked(pretrained="IMAGENET1K_V1")).module
    assert found.transform_input and found.aux1 is None
    with pytest.raises(ModelError, match="'num_classes' expected value 1000 but got 5"):
        find_model("googlenet", Asked(pretrained="", num_classes=5))


def test_timm(caches: Path, succeed: Tool) -> None:
    module = timm.create_model(SMALL)
    path = publish_timm(caches, f"{SMALL}.lamb_in1k", module.state_dict())
    done = succeed(NAME, "--model", SMALL, "--pretrained", "lamb_in1k", "--output", caches / "m.pt")
    assert done.stdout.splitlines()[-1].endswith("weights lamb_in1k") and "note" not in done.stdout and done.stderr == ""
    exported, card = load_model(caches / "m.pt")
    check_same(exported, timm.create_model(f"{SMALL}.lamb_in1k", pretrained=True), 224)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert card["source"]["weights"] == {"tag": "lamb_in1k", "path": "model.safetensors", "sha256": digest}
    assert card["source"]["model"] == card["recipe"]["source"] == f"timm:{SMALL}.lamb_in1k"


def test_timm_adapts_the_head_and_the_input(caches: Path) -> None:
    module = timm.create_model(SMALL)
    publish_timm(caches, f"{SMALL}.lamb_in1k", module.state_dict(), "pytorch_model.bin")
    found = find_model(SMALL, Asked(pretrained="", num_classes=5, in_chans=1))
    first, own = found.module.state_dict()["conv_stem.weight"], module.state_dict()["conv_stem.weight"]
    assert torch.allclose(first, own.sum(1, keepdim=True)) and found.module.classifier.out_features == 5
    assert found.pretrained.path.name == "pytorch_model.bin" and found.input_shape == (1, 224, 224)
    assert "has weights for 1000 classes: the classifier for 5 is random" in found.pretrained.notes[0]


def test_timm_in_the_cache_of_torch(caches: Path) -> None:
    """Some weights are not on the hub; whether they have the hash of their name timm does not ask."""
    module = timm.create_model("legacy_seresnet18")
    path = torch_file(caches, "seresnet18-4bb0ce65.pth")
    torch.save(module.state_dict(), path)
    found = find_model("timm:legacy_seresnet18.in1k", Asked(pretrained=""))
    check_same(found.module, module, 64)
    assert found.pretrained.path == path and "does not begin with 4bb0ce65" in found.pretrained.notes[0]


def test_weights_that_are_not_there(caches: Path, fail: Tool) -> None:
    says = f"""are not in '{caches}/torch/hub/checkpoints'; fetch them where there is a network: {FETCH} torchvision; """
    says += """torchvision.models.get_model('resnet18', weights='IMAGENET1K_V1')\""""
    fail(NAME, "--model", "resnet18", "--pretrained", code=4, says=says)
    says = f"weights timm:resnet18.a1_in1k are not in '{caches}/hub'; fetch them where there is a network: {FETCH} timm; "
    says += "timm.create_model('resnet18.a1_in1k', pretrained=True)\""
    fail(NAME, "--model", "timm:resnet18", "--pretrained", "a1_in1k", code=4, says=says)
    says = "timm.create_model('legacy_seresnet18.in1k', pretrained=True)\""
    fail(NAME, "--model", "legacy_seresnet18", "--pretrained", code=4, says=says)


def test_damaged_files_are_refused(caches: Path, monkeypatch: pytest.MonkeyPatch, fail: Tool) -> None:
    weights = torchvision.models.SqueezeNet1_1_Weights.IMAGENET1K_V1
    path = publish_torchvision(caches, monkeypatch, weights, {"a": torch.zeros(1)})
    path.write_bytes(path.read_bytes()[:-1])
    says = f"'{path}' is damaged: its sha256 does not begin with {path.stem[-8:]}; remove it, and fetch it again"
    fail(NAME, "--model", "squeezenet1_1", "--pretrained", code=4, says=says)
    link = publish_timm(caches, f"{SMALL}.lamb_in1k", {"a": torch.zeros(1)})
    link.write_bytes(b"cut off")
    fail(NAME, "--model", SMALL, "--pretrained", code=4, says=f"{link.resolve()}' is damaged")


def test_as_a_program(caches: Path, tmp_path: Path) -> None:
    """The libraries read their settings as they are loaded: nothing is asked of the network, not even for a safer file."""
    publish_timm(caches, f"{SMALL}.lamb_in1k", timm.create_model(SMALL).state_dict(), "pytorch_model.bin")
    (tmp_path / "sitecustomize.py").write_text(
        "import os, socket\n"
        "def refuse(*_): os._exit(77)\n"
        "socket.getaddrinfo = socket.socket.connect = refuse\n"
    )
    named = {"HF_HUB_CACHE": str(caches / "hub"), "PYTHONPATH": str(tmp_path)}
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"} | named
    command = [sys.executable, TOOLS / "export_model.py", "--model", SMALL, "--output", tmp_path / "m.pt", "--pretrained"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.splitlines()[-1].startswith("wrote ")


def test_tags() -> None:
    for model, tag, says in (
        ("resnet18", "V9", "torchvision:resnet18 has no weights 'V9'; it has IMAGENET1K_V1"),
        ("timm:resnet18", "V9", "timm:resnet18 has no weights 'V9'; it has "),
        ("timm:resnet18.a1_in1k", "tv_in1k", "name different weights"),
    ):
        with pytest.raises(UsageError, match=says):
            find_model(model, Asked(pretrained=tag))
    with pytest.raises(ModelError, match="timm has no weights of convnextv2_small; --weights takes a file"):
        find_model("convnextv2_small", Asked(pretrained=""))


def test_usage_faults(fail: Tool) -> None:
    fail(NAME, "--model", "resnet18", "--pretrained", "--weights", "w.pth", code=2, says="are two origins of the weights")
    for model in ("hf:folder", "nets.py:make", "nets:make"):
        fail(NAME, "--model", model, "--pretrained", code=2, says="--pretrained is for the models of torchvision and timm")
