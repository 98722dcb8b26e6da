# SPDX-License-Identifier: Apache-2.0
"""ONNX models: their cards, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import Evaluate

onnx = pytest.importorskip("onnx", reason="set-up without --with-openvino")
pytest.importorskip("onnxruntime")

import foreign_onnx as foreign  # noqa: E402
from launch import Program  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from onnx_sets import CLASSES, set_of_numbers  # noqa: E402


def test_cards(evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    """One beside the file wins over what the graph says; one in the file over that."""
    model, values = tmp_path / "net.onnx", foreign.numbers()
    onnx.save(foreign.dense(softmax=True), model)
    data = set_of_numbers(tmp_path / "set.h5", values)
    card = {
        "tally_card": 1, "inputs": [{"name": "x", "dtype": "float32", "shape": ["batch", 6]}], "num_classes": CLASSES,
        "outputs": [{"name": "y", "kind": "logits", "dtype": "float32", "shape": ["batch", CLASSES]}],
    }  # fmt: skip
    beside = tmp_path / "net.onnx.json"
    by_graph = evaluate(model, data).value("loss")
    beside.write_text(json.dumps(card))
    by_card = evaluate(model, data).value("loss")
    assert by_card != by_graph
    beside.write_text(json.dumps(card | {"outputs": [card["outputs"][0] | {"name": "z"}]}))
    run = ["evaluate", "--model", model, "--data", data, "--output", tmp_path / "run"]
    tally(*run).must_fail(4, "no output 'z'")
    beside.write_text(json.dumps(card | {"inputs": [card["inputs"][0] | {"shape": ["batch", 7]}]}))
    tally(*run).must_fail(4, "its card says [-1, 7]")
    beside.write_text(json.dumps(card | {"inputs": [card["inputs"][0] | {"dtype": "int64"}]}))
    tally(*run).must_fail(4, "its card says int64")
    inside = onnx.load(model)
    inside.metadata_props.add(key="tally", value=json.dumps(card))
    onnx.save(inside, model)
    assert evaluate(model, data).value("loss") == by_card


def test_names_that_a_data_set_cannot_tell_apart(tally: Program, tmp_path: Path) -> None:
    model, data = tmp_path / "net.onnx", set_of_numbers(tmp_path / "set.h5", foreign.numbers())
    network = foreign.dense()
    for name in ("o/1", "o_1"):
        network.graph.node.append(helper.make_node("Neg", ["y"], [name]))
        network.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 5]))
    onnx.save(network, model)
    run = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "run")
    run.must_fail(4, "cannot tell apart")


def test_random_numbers_that_are_allowed(evaluate: Evaluate, tmp_path: Path) -> None:
    model, values = tmp_path / "net.onnx", np.zeros((9, 5), np.float32)
    onnx.save(random_scores(), model)
    result = evaluate(model, set_of_numbers(tmp_path / "set.h5", values), "--allow-training-mode")
    assert result.report["digests"]["comparable"] is False


def test_bfloat16(tally: Program, tmp_path: Path) -> None:
    """On processors that compute in it; others say so."""
    model, data = tmp_path / "net.onnx", set_of_numbers(tmp_path / "set.h5", foreign.numbers())
    onnx.save(foreign.dense(), model)
    run = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "run", "--precision", "bf16")
    assert run.code == 0 or (run.code == 5 and "OpenVINO computes in float32" in run.stderr), run.stderr


def linear_classifier() -> onnx.ModelProto:
    node = helper.make_node("LinearClassifier", ["x"], ["l", "y"], domain="ai.onnx.ml", coefficients=[1.0] * 30,
                            intercepts=[0.0] * 5, classlabels_ints=[0, 1, 2, 3, 4], post_transform="SOFTMAX")  # fmt: skip
    scores = [helper.make_tensor_value_info("l", TensorProto.INT64, ["N"]),
              helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 5])]  # fmt: skip
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])], scores)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def random_scores() -> onnx.ModelProto:
    node = helper.make_node("RandomNormalLike", ["x"], ["y"])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 5]) for name in "xy"]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def scalar_input() -> onnx.ModelProto:
    model = foreign.dense()
    model.graph.input.append(helper.make_tensor_value_info("alpha", TensorProto.FLOAT, []))
    model.graph.node.append(helper.make_node("Mul", ["y", "alpha"], ["z"]))
    model.graph.output[0].name = "z"
    return model


def cut(model: onnx.ModelProto) -> bytes:
    content = model.SerializeToString()
    return content[: len(content) // 2]


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "linear": (lambda: linear_classifier().SerializeToString(), "ai.onnx.ml.LinearClassifier"),
    "random": (lambda: random_scores().SerializeToString(), "draws random numbers"),
    "scalar": (lambda: scalar_input().SerializeToString(), "'alpha', which is no tensor with a row for each sample"),
    "cut": (lambda: cut(foreign.dense()), "net.onnx"),
    "xml": (lambda: b'<?xml version="1.0"?>\n<net name="g" version="11">\n', "net.bin"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str, tally: Program, tmp_path: Path) -> None:
    make, problem = BAD[name]
    model, data = tmp_path / "net.onnx", set_of_numbers(tmp_path / "set.h5", foreign.numbers())
    model.write_bytes(make())
    run = ["evaluate", "--model", model, "--data", data, "--output", tmp_path / "run"]
    tally(*run, ranks=2).must_fail(4, problem)


@pytest.mark.parametrize(("option", "value", "problem"), [
    ("--precision", "tf32", "precision"),
    ("--weights", "weights", "constants"),
])  # fmt: skip
def test_options_that_do_not_fit(option: str, value: str, problem: str, tally: Program, tmp_path: Path) -> None:
    model, data = tmp_path / "net.onnx", set_of_numbers(tmp_path / "set.h5", foreign.numbers())
    onnx.save(foreign.dense(), model)
    if value == "weights":
        import torch

        value = str(tmp_path / "weights.pth")
        torch.save({"w": torch.zeros(6, 16)}, value)
    run = ["evaluate", "--model", model, "--data", data, "--output", tmp_path / "run", option, value]
    tally(*run).must_fail(4, problem)


def test_inspect(tally: Program, tmp_path: Path) -> None:
    model = tmp_path / "net.onnx"
    onnx.save(foreign.images(12, 20, CLASSES, channels_last=True), model)
    shown = tally("inspect", model).must_succeed().stdout
    for line in ("ONNX model", "input image: float32 [batch, 3, 12, 20]", "output y: float32 [batch, 5], probabilities"):
        assert line in shown
