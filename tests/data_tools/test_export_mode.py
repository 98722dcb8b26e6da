# SPDX-License-Identifier: Apache-2.0
"""export_model: what is active in evaluation mode, and what a trace decided by the data of its example."""

import json
import zipfile
from pathlib import Path

import mode_nets
import pytest
import torch
from oracle import load_model

from conftest import Tool

pytestmark = pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*assigned during export")
NAME = "export_model"
NETS = Path(__file__).with_name("mode_nets.py")


def line_of(text: str, function: str) -> int:
    """The first line that holds `text`, behind `function`."""
    lines = NETS.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if function in line)
    return next(number for number, line in enumerate(lines[first:], first + 1) if text in line)


def options(function: str, output: Path, *more: str) -> list[object]:
    return ["--model", f"{NETS}:{function}", "--input-shape", "8", "--output", output, *more]


def test_a_branch_by_data_is_scripted(tmp_path: Path, succeed: Tool) -> None:
    done = succeed(NAME, *options("branch", tmp_path / "m.pt"))
    assert "Branch" not in done.stderr and " scripted, " in done.stdout
    exported, _ = load_model(tmp_path / "m.pt")
    module = mode_nets.branch()
    module.load_state_dict(exported.state_dict())
    for values in (torch.ones(5, 8), -torch.ones(5, 8), torch.zeros(5, 8)):
        assert torch.allclose(exported(values), module(values))


def test_a_branch_by_data_that_cannot_be_scripted_is_refused(fail: Tool) -> None:
    line = line_of("values[0].sum() > 0", "class Unscriptable")
    fail(
        NAME, "--model", f"{NETS}:unscriptable", "--input-shape", "8", code=4,
        says=f"decides by its data at {NETS}:{line} (bool); scripting failed",
    )  # fmt: skip


def test_a_branch_that_the_batches_do_not_show_is_a_note(tmp_path: Path, succeed: Tool) -> None:
    line = line_of("values.max() > 1e6", "class Rare")
    done = succeed(NAME, *options("rare", tmp_path / "m.pt"))
    note, written = done.stdout.splitlines()
    assert note.startswith(f"note: the model decides by its data at {NETS}:{line} (bool); the trace keeps")
    assert "--script" in note and " traced, " in written
    done = succeed(NAME, *options("rare", tmp_path / "m.pt", "--script", "--overwrite"))
    assert len(done.stdout.splitlines()) == 1 and done.stderr == ""


def test_shapes_and_assertions_are_no_decisions(tmp_path: Path, succeed: Tool) -> None:
    done = succeed(NAME, *options("of_shapes", tmp_path / "m.pt"))
    assert len(done.stdout.splitlines()) == 1 and " traced, " in done.stdout and done.stderr == ""


@pytest.mark.parametrize("file_format", ["torchscript", "pt2"])
@pytest.mark.parametrize(
    ("function", "operator", "source"),
    [
        ("dropout", "dropout (aten::dropout", "class Dropout"),
        ("noise", "random numbers (aten::randn_like", "class Noise"),
        ("attention", "dropout (aten::scaled_dot_product_attention", "class Attention"),
    ],
)
def test_what_is_random_is_refused(fail: Tool, file_format: str, function: str, operator: str, source: str) -> None:
    fail(
        NAME, "--model", f"{NETS}:{function}", "--input-shape", "8", "--format", file_format, code=4,
        says="the model gives other results for the same batch [4, 8], in evaluation mode: "
        f"{operator} at mode_nets.py:{line_of('return', source)}) is active in it",
    )  # fmt: skip


BATCH_STATISTICS = {
    "operator": "aten::batch_norm",
    "source": f"mode_nets.py:{line_of('return', 'class BatchStatistics')}",
    "what": "batch statistics",
}


def test_batch_statistics_are_a_note_and_in_the_card_of_a_package(tmp_path: Path, succeed: Tool) -> None:
    source = BATCH_STATISTICS["source"]
    note = f"note: in evaluation mode the model has this active: batch statistics (aten::batch_norm at {source})"
    assert note in succeed(NAME, *options("batch_statistics", tmp_path / "m.pt")).stdout
    done = succeed(NAME, *options("batch_statistics", tmp_path / "m.pt2", "--format", "pt2"))
    assert note in done.stdout
    with zipfile.ZipFile(tmp_path / "m.pt2") as archive:
        name = next(name for name in archive.namelist() if name.endswith(".wrapper_metadata.json"))
        card = json.loads(json.loads(archive.read(name))["tally"])
    assert card["training_mode"] == [BATCH_STATISTICS]


def findings(module: torch.nn.Module, *shape: int) -> list[set[tuple[str, str]]]:
    """By the exported program, by the trace and by the script."""
    from tally_export import training_mode

    example = (torch.randn(*shape),)
    with torch.no_grad():
        found = [
            training_mode.of_program(torch.export.export(module, example)),
            training_mode.of_torchscript(torch.jit.trace(module, example, check_trace=False)),
            training_mode.of_torchscript(torch.jit.script(module)),
        ]
    return [{(one.operator, one.what) for one in several} for several in found]


def test_what_reads_like_training_mode_and_is_none() -> None:
    assert findings(mode_nets.Sound().eval(), 3, 1, 8, 8) == [set(), set(), set()]


def test_all_of_training_mode_is_found() -> None:
    expected = {
        ("aten::batch_norm", "batch statistics"),
        ("aten::instance_norm", "batch statistics"),
        ("aten::dropout", "dropout"),
        ("aten::lstm", "dropout"),
    }
    assert findings(mode_nets.Sound().train(), 3, 1, 8, 8) == [expected] * 3


OPERATORS = [
    (lambda x: torch.bernoulli(x.sigmoid()), "aten::bernoulli", "random numbers"),
    (lambda x: x + torch.rand(x.shape), "aten::rand", "random numbers"),
    (lambda x: x[torch.randperm(4)], "aten::randperm", "random numbers"),
    (lambda x: torch.normal(x, 1.0), "aten::normal", "random numbers"),
    (lambda x: torch.multinomial(x.softmax(1), 2), "aten::multinomial", "random numbers"),
    (lambda x: torch.nn.functional.rrelu(x, training=True), "aten::rrelu", "random numbers"),
    (lambda x: torch.nn.functional.alpha_dropout(x, training=True), "aten::alpha_dropout", "dropout"),
    (lambda x: torch.nn.functional.dropout1d(x, training=True), "aten::feature_dropout", "dropout"),
    (lambda x: torch.binomial(x.abs().round(), x.sigmoid()), "aten::binomial", "random numbers"),
]


@pytest.mark.parametrize(("function", "operator", "what"), OPERATORS, ids=[name for _, name, _ in OPERATORS])
def test_operators(function: object, operator: str, what: str) -> None:
    from tally_export import training_mode

    class Module(torch.nn.Module):
        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return function(values)

    example = (torch.randn(4, 8),)
    for found in (
        training_mode.of_program(torch.export.export(Module(), example)),
        training_mode.of_torchscript(torch.jit.trace(Module(), example, check_trace=False)),
    ):
        assert [(one.operator.removesuffix("_"), one.what) for one in found] == [(operator, what)]
        assert all(one.source and one.source.startswith("test_export_mode.py:") for one in found)
