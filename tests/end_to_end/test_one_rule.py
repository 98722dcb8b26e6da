# SPDX-License-Identifier: Apache-2.0
"""`export_model.py --weights X` and `tally evaluate --weights X` take the same tensors of the same file."""

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import export_model
import pytest
import torch
from checkpoints import make_net
from conftest import Evaluate, Small
from launch import Program
from tally_data.errors import run_tool
from trainer_files import TRAINERS
from varied_net import VariedNet

OWN_MODULE = "from varied_net import VariedNet\n\ndef make():\n    return VariedNet(3)\n"
Export = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory, tally: Program) -> Export:
    """export(output, *options): the exporter in this process, of the varied net; its exit code and what it said."""
    own = tmp_path_factory.mktemp("own") / "own_varied.py"
    own.write_text(OWN_MODULE)

    def run(output: Path, *options: object) -> tuple[int, str, str]:
        words = ["export_model", "--model", f"{own}:make", "--input-shape", "3,8,8", "--output", output, *options]
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", list(map(str, words))), redirect_stdout(out), redirect_stderr(err):
            with mock.patch.dict("os.environ", {"TALLY_BIN": str(tally.binary)}), pytest.raises(SystemExit) as ended:
                run_tool("export_model", export_model.main)
        return ended.value.code, out.getvalue(), err.getvalue()

    return run


@pytest.fixture(scope="module")
def random_model(export: Export, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "random.pt"
    assert export(path)[0] == 0
    return path


def average_of(net: VariedNet) -> VariedNet:
    average = make_net(seed=17)
    average.tied_in.weight.data.add_(net.tied_in.weight.data)
    return average


@pytest.mark.parametrize("name", TRAINERS)
def test_digests_are_the_same(
    name: str, export: Export, random_model: Path, evaluate: Evaluate, small_case: Small, tmp_path: Path
) -> None:
    trainer, raw = TRAINERS[name], make_net()
    average = average_of(raw)
    (tmp_path / "x").mkdir()
    path = trainer.write(tmp_path / "x", raw, average)
    cases = [((), raw, trainer.notes)]
    if trainer.average:
        cases.append((trainer.average, average, ()))
    found = []
    for i, (options, net, notes) in enumerate(cases):
        exported = tmp_path / f"{i}.pt"
        code, out, err = export(exported, "--weights", path, *options)
        assert (code, err) == (0, ""), err
        held = torch.jit.load(exported).state_dict()
        assert all(torch.equal(held[key], value) for key, value in net.state_dict().items() if key in held)
        own = evaluate(exported, small_case.data)
        swapped = evaluate(random_model, small_case.data, "--weights", path, *options)
        assert own.digests == swapped.digests
        for note in notes:
            assert note in swapped.run.stderr and note in out
        assert "EMA" not in own.run.stderr and ("EMA" in out) == ("EMA" in "".join(notes))
        assert sorted(tmp_path.glob(".tally*")) == []
        found.append(own.digests)
    assert len(set(found)) == len(cases)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_weights_are_rounded_once(
    precision: str, export: Export, evaluate: Evaluate, small_case: Small, tmp_path: Path
) -> None:
    """Of float64, from which rounding by way of float32 gives other bits now and then."""
    path = tmp_path / "w.pth"
    torch.save({name: tensor.double() if tensor.is_floating_point() else tensor
                for name, tensor in make_net().double().state_dict().items()}, path)  # fmt: skip
    for name, options in (("own", ["--weights", path]), ("random", [])):
        assert export(tmp_path / f"{name}.pt", "--precision", precision, *options)[0] == 0
    own = evaluate(tmp_path / "own.pt", small_case.data)
    assert own.digests == evaluate(tmp_path / "random.pt", small_case.data, "--weights", path).digests


def test_faults_are_the_programs(export: Export, tmp_path: Path) -> None:
    path = tmp_path / "w.pth"
    torch.save(make_net().state_dict() | {"head.bias": torch.zeros(2)}, path)
    code, _, err = export(tmp_path / "m.pt", "--weights", path)
    assert code == 4 and len(err.splitlines()) == 1
    assert err.startswith("export_model: error[4] weights '") and "1 unexpected: head.bias" in err
    assert sorted(tmp_path.iterdir()) == [path]


def test_the_program_is_missed(export: Export, tmp_path: Path) -> None:
    torch.save(make_net().state_dict(), tmp_path / "w.pth")
    gone = tmp_path / "no-tally"
    with mock.patch("tally_export.weights.find_program", lambda: str(gone)):
        code, _, err = export(tmp_path / "m.pt", "--weights", tmp_path / "w.pth")
    assert code == 5 and f"the program '{gone}' cannot be run" in err
    with mock.patch("tally_export.weights.os.access", lambda *_: False):
        with mock.patch("tally_export.weights.os.environ", {"PATH": ""}), pytest.raises(Exception) as caught:
            from tally_export.weights import find_program

            find_program()
    assert caught.value.exit_code == 5 and "TALLY_BIN" in str(caught.value)


ALONE = {
    "ema": (lambda state: {"ema": state, "rng": torch.get_rng_state(), "best": torch.tensor(0.5)}, "entry 'ema'"),
    "nested": (lambda state: {"net_ema": {"state_dict": state}}, "entry 'net_ema.state_dict'"),
    "beside_others": (lambda state: {"ema": state, "generator": state}, None),
    "two_averages": (lambda state: {"ema_0.99": state, "ema_0.999": dict(state)}, None),
}


@pytest.mark.parametrize("name", ALONE)
def test_averages_alone(name: str, random_model: Path, small_case: Small, tally: Program, tmp_path: Path) -> None:
    make, note = ALONE[name]
    torch.save(make(make_net().state_dict()), tmp_path / "w.pth")
    run = tally("check", "--model", random_model, "--data", small_case.data, "--weights", tmp_path / "w.pth")
    if note is None:
        run.must_fail(4, "no state_dict was found in it", "'ema", "name the entry with --weights-key")
    else:
        run.must_succeed()
        assert f"taken from its {note}" in run.stderr and "EMA weights lie" not in run.stderr


def test_inspect_says_where_averages_lie(tally: Program, tmp_path: Path) -> None:
    net = make_net()
    path = TRAINERS["timm"].write(tmp_path, net, average_of(net))
    run = tally("inspect", path).must_succeed()
    assert "EMA weights lie in 'state_dict_ema'; --weights-key state_dict_ema takes them" in run.stdout
