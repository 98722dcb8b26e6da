# SPDX-License-Identifier: Apache-2.0
"""`--weights` gives the digests of a model that holds these weights itself, whoever wrote the file and on any ranks."""

from pathlib import Path

import pytest
import small
import torch
from checkpoint_files import FILES
from checkpoints import State, copied, make_net
from conftest import Evaluate, Small
from known_results import check_known
from launch import Program
from prepared import ROOT, TOOLS, Cache, Prepared
from safetensors.torch import save_file
from same_results import check_same
from varied_net import untied_net
from weight_runs import WeightRuns

@pytest.fixture(scope="module")
def runs(evaluate: Evaluate, small_case: Small, tmp_path_factory: pytest.TempPathFactory) -> WeightRuns:
    return WeightRuns(evaluate, small_case.data, tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize("name", FILES)
def test_form(name: str, runs: WeightRuns, tmp_path: Path) -> None:
    check_form(name, runs, tmp_path)


@pytest.mark.parametrize("name", ["state_dict", "views_of_one_storage", "legacy_nested", "lightning", "safetensors"])
def test_form_on_3_ranks(name: str, runs: WeightRuns, tmp_path: Path) -> None:
    check_form(name, runs, tmp_path, ranks=3)


def check_form(name: str, runs: WeightRuns, tmp_path: Path, ranks: int | None = None) -> None:
    form, net = FILES[name], make_net()
    path = form.write(tmp_path, net)
    key = [] if form.key is None else ["--weights-key", form.key]
    result = runs.with_weights(path, *key, ranks=ranks)
    assert result.digests == runs.expected(net.state_dict())
    for text in form.says:
        assert text in result.run.stderr


def test_the_weights_make_the_difference(runs: WeightRuns) -> None:
    """Every tensor that could be read wrongly changes the digests."""
    state = make_net().state_dict()
    found = {runs.expected(state)}
    unseen = ("empty", "num_batches_tracked")
    names = [name for name in state if not name.endswith(unseen)]
    for name in names:
        other = copied(state)
        tensors = [other[name]]
        if name.startswith("tied_") and name.endswith("weight"):
            tensors = [other["tied_in.weight"], other["tied_out.weight"]]
        for tensor in tensors:
            tensor.copy_(tensor.flip(0) if tensor.dim() > 0 else tensor * 2)
        found.add(runs.expected(other))
    assert len(found) == len(names)  # both names of the tied weight are one case


# Precision of the model, precision of the file, what is said of it.
CONVERSIONS = [
    ("fp32", "bf16", "17 tensors converted from bfloat16 to float32"),
    ("fp32", "fp16", "17 tensors converted from float16 to float32"),
    ("bf16", "fp32", "17 tensors converted from float32 to bfloat16"),
    ("fp16", "bf16", "17 tensors converted from bfloat16 to float16"),
    ("bf16", "bf16", None),
    ("fp16", "fp16", None),
]


@pytest.mark.parametrize("form", ["state_dict", "legacy", "safetensors"])
@pytest.mark.parametrize(("model", "file", "says"), CONVERSIONS)
def test_precisions(form: str, model: str, file: str, says: str | None, runs: WeightRuns, tmp_path: Path) -> None:
    net = make_net(file)
    result = runs.with_weights(FILES[form].write(tmp_path, net), precision=model)
    assert result.digests == runs.expected(net.state_dict(), model)
    assert ("converted" in result.run.stderr) == (says is not None)
    assert says is None or says in result.run.stderr


@pytest.fixture(scope="module")
def package(cache_dir: Path) -> Path:
    """The varied net, compiled so that its weights can be replaced."""
    model = f"{ROOT / 'tests' / 'support' / 'varied_net.py'}:untied_net"
    words = ["--format", "pt2", "--swappable", "--model", model, "--input-shape", "3,8,8"]
    return Cache(cache_dir).tool("varied.pt2", TOOLS / "export_model.py", *words)


@pytest.mark.parametrize("form", ["plain_dict", "legacy_nested", "safetensors"])
def test_package(form: str, package: Path, runs: WeightRuns, tmp_path: Path) -> None:
    """As the TorchScript of these weights, but for rounding."""
    net = untied_net(seed=2)
    path = FILES[form].write(tmp_path, net)
    results = [runs.with_weights(path, model=package, ranks=ranks) for ranks in (None, 3)]
    check_same(results)
    own = runs.evaluate(small.save_model(net, tmp_path / "own.pt"), runs.data)
    assert results[0].value("accuracy") == own.value("accuracy")
    assert results[0].value("loss") == pytest.approx(own.value("loss"), rel=1e-5)


PUBLISHED = [("cifar_resnet20", "resnet20-12fca82f", None), ("cifar_resnet32", "resnet32-d509ac18", 3)]


@pytest.mark.parametrize(("network", "name", "ranks"), PUBLISHED)
def test_published_checkpoints(
    network: str, name: str, ranks: int | None, data_dir: Path, cache_dir: Path, evaluate: Evaluate
) -> None:
    """Of PyTorch before 1.6, with "module." before each name: 915 and 928 of 1,000 are known to be right."""
    prepared = Prepared(data_dir, cache_dir)
    weights = data_dir / "cifar10-nets" / f"{name}.th"
    result = evaluate(prepared.untrained_model(network), prepared.data_of(network), "--weights", weights, ranks=ranks)
    check_known(result, network)


def misfits(kind: str) -> State:
    """Twelve tensors that are missing, strange or of another shape."""
    state = {name: tensor.contiguous() for name, tensor in copied(make_net().state_dict()).items()}
    if kind == "missing":
        return {name: state[name] for name in ("conv.bias", "narrow.bias")}
    if kind == "unexpected":
        return state | {f"head.{index:02}.weight": torch.zeros(2) for index in range(12)}
    names = [name for name in state if name.endswith(("weight", "bias", "mean", "var"))]
    return state | {name: torch.zeros(2, 2) for name in names[:12]}


# Of each, ten are named.
MISFITS = {
    "missing": ("16 missing: conv.weight, empty, gain, narrow.weight", "order, shift, …"),
    "unexpected": ("12 unexpected: head.00.weight, head.01.weight", "head.08.weight, head.09.weight, …"),
    "misshaped": ("12 of another shape or type: conv.bias [2, 2] float32 (the model's: [13] float32)",
                  "tied_out.bias [2, 2] float32 (the model's: [13] float32), …"),
}  # fmt: skip


@pytest.mark.parametrize(("suffix", "ranks"), [(".pth", None), (".safetensors", None), (".safetensors", 3)])
@pytest.mark.parametrize("kind", MISFITS)
def test_misfits(
    kind: str, suffix: str, ranks: int | None, tally: Program, runs: WeightRuns, tmp_path: Path
) -> None:
    path = tmp_path / f"{kind}{suffix}"
    save_file(misfits(kind), path) if suffix == ".safetensors" else torch.save(misfits(kind), path)
    words = ["--model", runs.base(), "--data", runs.data, "--output", tmp_path / "run", "--weights", path]
    says = ("base-fp32.pt", "tally inspect", *MISFITS[kind])
    tally("evaluate", *words, ranks=ranks).must_fail(4, path.name, *says)
    assert not (tmp_path / "run").exists()
