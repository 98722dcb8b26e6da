# SPDX-License-Identifier: Apache-2.0
"""What of a graph is still in training mode: dropout, batch statistics, random numbers."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from torch.fx import Node

DROPOUT, BATCH_STATISTICS, RANDOM_NUMBERS = "dropout", "batch statistics", "random numbers"
_SWITCHES = ("train", "training")
_SHARES = ("p", "dropout_p", "dropout")
_TORCH = f"{Path(torch.__file__).parent}/"
_Arguments = dict[str, Any]  # of an operator, by name; what is not constant is None


@dataclass(frozen=True)
class Finding:
    """operator: aten::dropout; source: "net.py:12", if known; what: one of the three."""

    operator: str
    source: str | None
    what: str

    def card_entry(self) -> dict[str, str | None]:
        return {"operator": self.operator, "source": self.source, "what": self.what}

    def __str__(self) -> str:
        return f"{self.what} ({self.operator}{f' at {self.source}' if self.source else ''})"


def training_notes(findings: list[Finding]) -> list[str]:
    """What the user should know of a file in which something is active."""
    if not findings:
        return []
    listed = ", ".join(map(str, findings[:3])) + (", …" if len(findings) > 3 else "")
    return [f"in evaluation mode the model has this active: {listed}; tally refuses it without --allow-training-mode"]


def why_random(module: torch.nn.Module, example: tuple[torch.Tensor, ...]) -> str:
    """What of the module is random, as far as a trace shows it."""
    try:
        with torch.no_grad():
            trace = torch.jit.trace(module, example, check_trace=False, strict=False)
            findings = [one for one in of_torchscript(trace) if one.what != BATCH_STATISTICS]
    except Exception:
        findings = []
    if not findings:
        return "something random is active in it"
    way_out = "; write F.dropout(x, training=self.training)" if findings[0].what == DROPOUT else ""
    return f"{findings[0]} is active in it{way_out}"


def _judge(operator: torch._ops.OpOverload, arguments: _Arguments, normalises_data: Callable[[], bool]) -> str | None:
    """What the operator does that belongs to training only."""
    name = operator._opname
    if "batch_norm" in name and "backward" not in name:
        active = arguments.get("training", True) is not False
        return BATCH_STATISTICS if active and normalises_data() else None
    if name == "instance_norm":  # without running statistics those of the sample are meant
        active = arguments["use_input_stats"] is not False and arguments["running_mean"] is not None
        return BATCH_STATISTICS if active and normalises_data() else None
    if torch.Tag.nondeterministic_seeded not in operator.tags:
        return None
    if arguments.get("num_layers") == 1:  # a recurrent layer's dropout lies between its layers
        return None
    if any(arguments.get(switch, True) is False for switch in _SWITCHES):
        return None
    shares = [arguments[share] for share in _SHARES if isinstance(arguments.get(share), int | float)]
    if 0 in shares:
        return None
    return DROPOUT if "drop" in name or any(share in arguments for share in _SHARES[1:]) else RANDOM_NUMBERS


def reaches(
    start: Any, before: Callable[[Any], Iterable[Any]], is_data: Callable[[Any], bool], key: Callable[[Any], Any]
) -> bool:
    """Whether `start` is, or is computed from, something that is_data; key: the same for the same one."""
    waiting, seen = [start], {key(start)}
    while waiting:
        one = waiting.pop()
        if is_data(one):
            return True
        new = [other for other in before(one) if key(other) not in seen]
        seen.update(map(key, new))
        waiting += new
    return False


def of_program(program: torch.export.ExportedProgram) -> list[Finding]:
    """Of an exported program, before it is compiled."""
    data = set(program.graph_signature.user_inputs)

    def normalises_data(node: Node) -> bool:
        name = attrgetter("name")
        return reaches(node.args[0], attrgetter("all_input_nodes"), lambda one: name(one) in data, name)

    findings = []
    graphs = [part.graph for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    for node in (node for graph in graphs for node in graph.nodes):
        operator = node.target
        if not isinstance(operator, torch._ops.OpOverload) or (not node.users and not operator._schema.is_mutable):
            continue
        # A graph within the graph has no inputs that say where they come from: all of them may be data.
        inside = node.graph is not program.graph
        what = _judge(operator, _fx_arguments(node), lambda node=node, inside=inside: inside or normalises_data(node))
        if what is not None:
            findings.append(Finding(f"aten::{operator._opname}", _fx_source(node), what))
    return _once(findings)


def _fx_arguments(node: Node) -> _Arguments:
    found = {argument.name: argument.default_value for argument in node.target._schema.arguments}
    found |= dict(zip(found, node.args, strict=False)) | node.kwargs
    return found


def _fx_source(node: Node) -> str | None:
    """The innermost line that is not PyTorch's own."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    return _innermost(reversed(frames))


def of_torchscript(module: torch.jit.ScriptModule) -> list[Finding]:
    """Of what `forward` runs, in the mode that the module is in."""
    graph = _decided(module).inlined_graph
    own = next(graph.inputs()).unique()

    def before(value: torch.Value) -> Iterator[torch.Value]:
        yield from value.node().inputs()
        for block in value.node().blocks():
            yield from block.outputs()

    def is_data(value: torch.Value) -> bool:
        return value.node().kind() == "prim::Param" and value.unique() != own

    findings = []
    for node in _jit_nodes(graph):
        operator = _jit_operator(node)
        if operator is None:
            continue
        arguments, normalised = _jit_arguments(node, operator), next(node.inputs(), None)
        what = _judge(
            operator, arguments, lambda one=normalised: reaches(one, before, is_data, torch.Value.unique)
        )
        if what is not None:
            findings.append(Finding(node.kind(), _jit_source(node), what))
    return _once(findings)


def _decided(module: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    """Scripted code asks for the mode as it runs: a copy of it that has its answer."""
    reads = (node for node in _jit_nodes(module.inlined_graph) if node.kind() == "prim::GetAttr")
    if module.training or not any(node.s("name") == "training" for node in reads):
        return module
    return torch.jit.freeze(module, optimize_numerics=False)


def _jit_nodes(block: Any) -> Iterator[torch.Node]:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _jit_nodes(inner)


def _jit_operator(node: torch.Node) -> torch._ops.OpOverload | None:
    """None for what is not of PyTorch's own operators."""
    if not node.kind().startswith("aten::") or node.schema() == "(no schema)":
        return None
    packet = getattr(torch.ops.aten, node.kind().removeprefix("aten::"), None)
    schema = torch._C.parse_schema(node.schema())
    return getattr(packet, schema.overload_name or "default", None)


def _jit_arguments(node: torch.Node, operator: torch._ops.OpOverload) -> _Arguments:
    names = [argument.name for argument in operator._schema.arguments]
    return dict(zip(names, map(_jit_constant, node.inputs()), strict=False))


_NOT_CONSTANT = object()


def _jit_constant(value: torch.Value) -> Any:
    if value.type().kind() == "NoneType":
        return None
    if value.node().kind() != "prim::Constant":
        return _NOT_CONSTANT
    return value.toIValue()


def _jit_source(node: torch.Node) -> str | None:
    """Traced code is said as `net.py(12): forward`, the innermost first, scripted code as in a traceback."""
    text = node.sourceRange()
    return _innermost(re.findall(r"^(/?[^\n(]+)\((\d+)\): ", text, re.M)) or _innermost(
        reversed(re.findall(r'File "([^"]+)", line (\d+)', text))
    )


def _innermost(frames: Iterable[tuple[str, str]]) -> str | None:
    own = ((file, line) for file, line in frames if not file.startswith(_TORCH))
    return next((f"{Path(file).name}:{line}" for file, line in own), None)


def _once(findings: list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))
