# SPDX-License-Identifier: Apache-2.0
"""export_model: library names, functions of the user's own, weights, the card, and each foreseeable fault."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torchvision
from oracle import load_model
from safetensors.torch import save_file

from conftest import NEEDS_PROGRAM, TOOLS, Tool

NAME = "export_model"
NETS = Path(__file__).with_name("own_nets.py")


@pytest.fixture(scope="module")
def net_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nets") / "own_nets.py"
    path.write_bytes(NETS.read_bytes())
    return path


def own(net_file: Path, function: str) -> torch.nn.Module:
    sys.path.insert(0, str(net_file.parent))
    import own_nets

    return getattr(own_nets, function)().eval()


def export(
    succeed: Tool, output: Path, model: object, *options: object, **more: object
) -> tuple[torch.jit.ScriptModule, dict]:
    succeed(NAME, "--model", model, "--format", "torchscript", "--output", output, *options, **more)
    return load_model(output)


@torch.inference_mode()
def same(exported: torch.nn.Module, module: torch.nn.Module, *shape: int) -> bool:
    batch = torch.randn(*shape)
    return torch.allclose(exported(batch), module(batch), rtol=1e-4, atol=1e-5)


@NEEDS_PROGRAM
def test_torchvision_with_weights(tmp_path: Path, succeed: Tool) -> None:
    torch.manual_seed(7)
    module = torchvision.models.resnet18(num_classes=12).eval()
    weights = tmp_path / "w.pth"
    torch.save(
        {"epoch": 3, "state_dict": {f"module.{name}": value for name, value in module.state_dict().items()}},
        weights,
    )
    options = ["--weights", weights, "--num-classes", 12, "--input-shape", "3,64,64"]
    exported, card = export(succeed, tmp_path / "m.pt", "resnet18", *options)
    assert same(exported, module, 3, 3, 64, 64)
    held = dict(exported.named_parameters()) | dict(exported.named_buffers())
    assert set(held) == set(module.state_dict()) and len(held) == 122
    assert card == {
        "tally_card": 1,
        "inputs": [{"name": "image", "dtype": "float32", "shape": ["batch", 3, 64, 64]}],
        "outputs": [{"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", 12]}],
        "fixed_batch": None,
        "weights": "swappable",
        "num_classes": 12,
        "source": {
            "model": "torchvision:resnet18",
            "torch": torch.__version__,
            "weights": {"path": "w.pth", "sha256": hashlib.sha256(weights.read_bytes()).hexdigest()},
        },
    }


def test_where_the_weights_come_from(tmp_path: Path, succeed: Tool, net_file: Path) -> None:
    """Those of a function of the user's own may be trained ones; those of a library's constructor are random."""
    done = succeed(NAME, "--model", f"{net_file}:make", "--output", tmp_path / "own.pt")
    assert "weights as the function made them" in done.stdout and "note" not in done.stdout
    assert load_model(tmp_path / "own.pt")[1]["source"]["weights"] == {"origin": "as the function made them"}
    done = succeed(NAME, "--model", "squeezenet1_1", "--recipe", "none", "--output", tmp_path / "library.pt")
    assert "random weights (seed 0)" in done.stdout and "note" not in done.stdout
    found = load_model(tmp_path / "library.pt")[1]
    assert found["source"]["weights"] is None and "recipe" not in found and "normalisation" not in found


def test_weights_of_the_file_can_be_swapped(tmp_path: Path, succeed: Tool, net_file: Path) -> None:
    one, _ = export(succeed, tmp_path / "1.pt", f"{net_file}:make", "--input-shape", "1,8,8", "--seed", 1)
    two, _ = export(succeed, tmp_path / "2.pt", f"{net_file}:make", "--input-shape", "1,8,8", "--seed", 2)
    assert not same(one, two, 5, 1, 8, 8)
    one.load_state_dict(two.state_dict())
    assert same(one, two, 5, 1, 8, 8)


def test_timm(tmp_path: Path, succeed: Tool) -> None:
    import timm

    options = ["--num-classes", 5, "--input-shape", "3,64,64", "--mean", "0.5", "--std", "0.5"]
    exported, card = export(succeed, tmp_path / "m.pt", "timm:mobilenetv3_small_050", *options)
    module = timm.create_model("mobilenetv3_small_050", num_classes=5).eval()
    module.load_state_dict(exported.state_dict())
    assert same(exported, module, 3, 3, 64, 64)
    assert card["source"]["model"] == "timm:mobilenetv3_small_050" and card["source"]["weights"] is None
    assert card["normalisation"] == {"scale": 1 / 255, "mean": [0.5] * 3, "std": [0.5] * 3, "channels": "RGB"}


@NEEDS_PROGRAM
def test_own_module_in_the_current_directory(tmp_path: Path, succeed: Tool, net_file: Path) -> None:
    module = own(net_file, "make")
    save_file(module.state_dict(), tmp_path / "w.safetensors")
    options = ["--weights", tmp_path / "w.safetensors"]
    exported, card = export(succeed, tmp_path / "m.pt", "own_nets:make", *options, cwd=net_file.parent)
    assert same(exported, module, 9, 1, 8, 8)
    assert card["inputs"][0]["shape"] == ["batch", 1, 8, 8]  # found by trying
    assert card["source"]["model"] == "own_nets:make" and "normalisation" not in card
    assert "recipe" not in card


def test_own_card_is_merged(tmp_path: Path, succeed: Tool, net_file: Path) -> None:
    _, card = export(succeed, tmp_path / "m.pt", f"{net_file}:with_card")
    assert card["inputs"] == [{"name": "pixels", "dtype": "float32", "shape": ["batch", 1, 8, 8]}]
    assert card["outputs"][0]["kind"] == "log-probabilities"
    assert card["normalisation"] == {"channels": "L", "scale": 0.5, "mean": [1.0], "std": [2.0]}
    done = succeed(
        NAME, "--model", f"{net_file}:with_card", "--format", "torchscript", "--output", tmp_path / "n.pt",
        "--outputs", "logits", "--mean", "3",
    )  # fmt: skip
    _, card = load_model(tmp_path / "n.pt")
    assert card["outputs"][0]["kind"] == "logits" and card["normalisation"]["mean"] == [3.0]
    assert card["normalisation"]["std"] == [2.0]
    assert done.stdout.startswith("note: the outputs look like log-probabilities")


def test_any_size_and_dtype(tmp_path: Path, succeed: Tool, net_file: Path) -> None:
    exported, card = export(succeed, tmp_path / "m.pt", f"{net_file}:pooled", "--precision", "bf16")
    assert card["inputs"][0] == {
        "name": "image",
        "dtype": "bfloat16",
        "shape": ["batch", 3, "height", "width"],
    }
    assert card["outputs"][0]["dtype"] == "bfloat16"
    assert exported(torch.zeros(2, 3, 17, 40, dtype=torch.bfloat16)).shape == (2, 5)


def test_input_shape_of_the_own_card(tmp_path: Path, succeed: Tool, fail: Tool, net_file: Path) -> None:
    _, card = export(succeed, tmp_path / "words.pt", f"{net_file}:with_words")
    assert card["inputs"][0]["shape"] == ["batch", 3, "height", "width"]
    _, card = export(succeed, tmp_path / "batch.pt", f"{net_file}:with_batch")
    assert card["inputs"][0]["shape"] == ["batch", 3, 32, 32]
    fail(NAME, "--model", f"{net_file}:with_wrong_words", code=4, says="input shape [3, 'high', 'wide']")


def test_tied_weights_and_fixed_buffers(tmp_path: Path, succeed: Tool, net_file: Path) -> None:
    exported, card = export(succeed, tmp_path / "m.pt", f"{net_file}:tied")
    assert card["weights"] == "swappable" and card["fixed_buffers"] == ["shift"]
    assert set(own(net_file, "tied").state_dict()) | {"shift"} == set(exported.state_dict())


def test_frozen_module(tmp_path: Path, succeed: Tool, net_file: Path) -> None:
    _, card = export(succeed, tmp_path / "m.pt", f"{net_file}:frozen", "--input-shape", "1,8,8")
    assert card["weights"] == "frozen" and "fixed_buffers" not in card


def test_script_where_a_trace_does_not_carry_over(tmp_path: Path, succeed: Tool, net_file: Path) -> None:
    exported, _ = export(succeed, tmp_path / "m.pt", f"{net_file}:odd")
    module = own(net_file, "odd")
    module.load_state_dict(exported.state_dict())
    assert same(exported, module, 1, 1, 8, 8) and same(exported, module, 6, 1, 8, 8)


def test_model_faults(tmp_path: Path, fail: Tool, net_file: Path) -> None:
    def refuse(function: str, says: str, *options: object) -> None:
        fail(
            NAME, "--model", f"{net_file}:{function}", "--format", "torchscript", *options, code=4, says=says
        )

    shape = ["--input-shape", "1,8,8"]
    refuse("none", "has no function 'none'")
    refuse("no_module", "returned a int")
    refuse("broken", "my own fault")
    refuse("pair", "returns a tuple", *shape)
    refuse("infinite", "NaN or Inf", *shape)
    refuse("fixed", "fails on a batch", *shape)
    refuse("make", "fails on a batch", "--input-shape", "1,9,9")
    refuse("make", "does not return probabilities", *shape, "--outputs", "probabilities")
    fail(NAME, "--model", "resnet1", "--format", "torchscript", code=4, says="did you mean resnet18")
    fail(
        NAME, "--model", "no_such:make", "--format", "torchscript", code=4, says="no Python module 'no_such'"
    )


@NEEDS_PROGRAM
def test_weights_faults(tmp_path: Path, fail: Tool, net_file: Path) -> None:
    state = own(net_file, "make").state_dict()
    weights = tmp_path / "w.pth"

    def refuse(content: object, says: str) -> None:
        if isinstance(content, bytes):
            weights.write_bytes(content)
        elif content is not None:
            torch.save(content, weights)
        model = ["--model", f"{net_file}:make", "--input-shape", "1,8,8", "--format", "torchscript"]
        fail(NAME, *model, "--weights", weights, code=4, says=says)

    refuse(None, "w.pth' cannot be read: No such file or directory")
    refuse(b"text", "w.pth' is a text file")
    refuse(
        {name: value for name, value in state.items() if name != "fc.bias"},
        "1 missing: fc.bias",
    )
    refuse(state | {"extra": torch.zeros(1)}, "1 unexpected: extra")
    refuse(state | {"fc.bias": torch.zeros(1)}, "fc.bias [1] float32 (the model's: [4] float32)")
    refuse({"epoch": 1}, "no state_dict was found in it")
    refuse(torch.nn.Linear(2, 2), "a pickled Python object of 'torch.nn.modules.linear.Linear'")


def test_as_a_program(tmp_path: Path, net_file: Path) -> None:
    """The other tests run the tool's main() in this process; this one runs it as users do."""
    command = [
        sys.executable,
        str(TOOLS / "export_model.py"),
        "--model",
        f"{net_file}:make",
        "--format",
        "torchscript",
    ]
    command += ["--output", str(tmp_path / "m.pt")]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2))
    assert (first.returncode, first.stderr) == (0, "") and first.stdout.startswith("wrote ")
    assert (
        second.returncode == 6 and len(second.stderr.splitlines()) == 1 and "exists already" in second.stderr
    )


def test_usage_faults(fail: Tool) -> None:
    fail(NAME, "--model", "resnet18", "--format", "onnx", code=2, says="--format")
    fail(
        NAME, "--model", "resnet18", "--format", "torchscript", "--mean", "0", code=2, says="--mean and --std"
    )
    fail(
        NAME,
        "--model",
        "resnet18",
        "--format",
        "torchscript",
        "--weights-key",
        "a",
        code=2,
        says="without --weights",
    )
