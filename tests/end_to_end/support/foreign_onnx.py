# SPDX-License-Identifier: Apache-2.0
"""ONNX files that Tally did not make, and what ONNX Runtime says of them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray


def infer(path: Path, inputs: Mapping[str, Array] | Array, rows: int) -> list[Array]:
    """All outputs, of batches of so many rows, as many as there are; an array is for the only input."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    if not isinstance(inputs, Mapping):
        inputs = {session.get_inputs()[0].name: inputs}
    total = len(next(iter(inputs.values())))
    parts = [session.run(None, {name: values[at : at + rows] for name, values in inputs.items()})
             for at in range(0, total, rows)]  # fmt: skip
    return [np.concatenate(one) for one in zip(*parts, strict=True)]


def with_random_weights(path: Path, gain: float) -> onnx.ModelProto:
    """Of a network whose weights are all alike, so that its scores would be, too; gain: of a layer, in variance."""
    model = onnx.load(path)
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    random, kept = np.random.default_rng(11), []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = known[node.input[0]]
        scale = np.sqrt(gain / max(1, np.prod(shape[1:]))) if len(shape) > 1 else 0.3
        values = random.normal(scale=scale, size=shape) if len(shape) > 1 else random.uniform(0.5, 1.5, shape)
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


def _values(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(scale=0.3, size=shape).astype(np.float32)


def _tensor(name: str, values: Array) -> TensorProto:
    return numpy_helper.from_array(values, name)


def _model(nodes: list, inputs: Mapping[str, list], outputs: Mapping[str, list], tensors: Mapping[str, Array],
           opset: int = 17, input_type: int = TensorProto.FLOAT, output_type: int = TensorProto.FLOAT) -> onnx.ModelProto:  # fmt: skip
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info(name, input_type, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, output_type, shape) for name, shape in outputs.items()],
        [_tensor(name, values) for name, values in tensors.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def dense(softmax: bool = False, batch: int | str = "N") -> onnx.ModelProto:
    """Of 6 numbers, 5 classes."""
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Tanh", ["h"], ["t"]),
             helper.make_node("MatMul", ["t", "v"], ["s" if softmax else "y"])]  # fmt: skip
    if softmax:
        nodes.append(helper.make_node("Softmax", ["s"], ["y"], axis=-1))
    tensors = {"w": _values(1, 6, 16), "b": _values(2, 16), "v": _values(3, 16, 5)}
    return _model(nodes, {"x": [batch, 6]}, {"y": [batch, 5]}, tensors)


def branching() -> onnx.ModelProto:
    """One of two branches by the sum of a batch, each with weights of its own."""

    def branch(name: str, seed: int) -> onnx.GraphProto:
        nodes = [helper.make_node("MatMul", ["x", f"{name}_w"], [f"{name}_y"])]
        scores = helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, ["N", 5])
        return helper.make_graph(nodes, name, [], [scores], [_tensor(f"{name}_w", _values(seed, 6, 5))])

    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["is_more"]),
        helper.make_node("If", ["is_more"], ["y"], then_branch=branch("then", 4), else_branch=branch("else", 5)),
    ]
    return _model(nodes, {"x": ["N", 6]}, {"y": ["N", 5]}, {"zero": np.zeros((), np.float32)})


def recurrent() -> onnx.ModelProto:
    """An LSTM over 3 steps of 2 numbers; half-precision weights are widened in the graph, as converters write it."""
    tensors = {"w": _values(1, 1, 32, 2), "r": _values(2, 1, 32, 8), "half": _values(3, 8, 5).astype(np.float16),
               "steps": np.array([0, 3, 2], np.int64), "axes": np.array([0], np.int64)}  # fmt: skip
    nodes = [
        helper.make_node("Reshape", ["x", "steps"], ["xs"]),
        helper.make_node("Transpose", ["xs"], ["sequence"], perm=[1, 0, 2]),
        helper.make_node("LSTM", ["sequence", "w", "r"], ["", "last"], hidden_size=8),
        helper.make_node("Squeeze", ["last", "axes"], ["h"]),
        helper.make_node("Cast", ["half"], ["v"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["h", "v"], ["y"]),
    ]
    return _model(nodes, {"x": ["N", 6]}, {"y": ["N", 5]}, tensors)


def images(height: int, width: int, classes: int, channels_last: bool = False) -> onnx.ModelProto:
    """With channels last as converters of TensorFlow write it: transposed in the graph."""
    layout = [0, 3, 1, 2] if channels_last else [0, 1, 2, 3]
    nodes = [
        helper.make_node("Transpose", ["image"], ["x"], perm=layout),
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "v"], ["s"]),
        helper.make_node("Softmax", ["s"], ["y"]),
    ]
    tensors = {"w": _values(1, 8, 3, 3, 3), "v": 5 * _values(2, 8, classes)}
    shape = ["N", height, width, 3] if channels_last else ["N", 3, height, width]
    return _model(nodes, {"image": shape}, {"y": ["N", classes]}, tensors)


def token_sums() -> onnx.ModelProto:
    """Of texts of any length: the sum of the embeddings of its tokens."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["e"]),
        helper.make_node("ReduceSum", ["e", "axis"], ["h"], keepdims=0),
        helper.make_node("MatMul", ["h", "v"], ["y"]),
    ]
    tensors = {"table": _values(1, 40, 8), "axis": np.array([1], np.int64), "v": _values(2, 8, 5)}
    return _model(nodes, {"input_ids": ["N", "L"]}, {"y": ["N", 5]}, tensors, input_type=TensorProto.INT64)


def ending(opset: int, operator: str = "Softmax", identity: bool = False) -> onnx.ModelProto:
    """With weights of its own, and what scores become at the end as files of that age write it."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["s"]), helper.make_node(operator, ["s"], ["p" if identity else "y"], axis=1)]
    if identity:
        nodes.append(helper.make_node("Identity", ["p"], ["y"]))
    return _model(nodes, {"x": ["N", 6]}, {"y": ["N", 5]}, {"w": 3 * _values(1, 6, 5)}, opset)


def sigmoid() -> onnx.ModelProto:
    """Each class is as likely as its own score says; a table of probabilities all the same."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["s"]), helper.make_node("Sigmoid", ["s"], ["y"])]
    return _model(nodes, {"x": ["N", 6]}, {"y": ["N", 5]}, {"w": 3 * _values(1, 6, 5)})


def half() -> onnx.ModelProto:
    """Of half precision, from its input to its output."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    half = TensorProto.FLOAT16
    return _model(nodes, {"x": ["N", 6]}, {"y": ["N", 5]}, {"w": _values(1, 6, 5).astype(np.float16)}, input_type=half,
                  output_type=half)  # fmt: skip


def bytes_of_images(height: int, width: int, classes: int) -> onnx.ModelProto:
    """Which normalises them itself."""
    model = images(height, width, classes, channels_last=True)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT8
    first = [helper.make_node("Cast", ["image"], ["pixels"], to=TensorProto.FLOAT), helper.make_node("Div", ["pixels", "most"], ["scaled"])]
    model.graph.node[0].input[0] = "scaled"
    nodes = [*first, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(_tensor("most", np.array(255, np.float32)))
    onnx.checker.check_model(model)
    return model


OF_NUMBERS: dict[str, Callable[[], onnx.ModelProto]] = {
    "dense": dense,
    "softmax": lambda: dense(softmax=True),
    "fixed-batch": lambda: dense(batch=7),
    "branching": branching,
    "recurrent": recurrent,
}


def numbers(total: int = 61) -> Array:
    return np.random.default_rng(7).normal(size=(total, 6)).astype(np.float32)


def known_networks() -> list[Path]:
    """ImageNet's networks that the package onnx ships for its own tests; their weights are made up."""
    return sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))
