# SPDX-License-Identifier: Apache-2.0
"""Compiled packages (.pt2): the known results, the same bits on any number of ranks, and nothing left behind."""

import signal
import subprocess
import time
from pathlib import Path

import packages
import pytest
import small
import torch
from conftest import Evaluate, Result, Small
from known_results import check_known, check_same_digests
from launch import Program, Run
from packages import BAD_PACKAGES
from prepared import ROOT, TOOLS, Cache, Prepared

RANKS = pytest.mark.parametrize("ranks", [None, 3], ids=["alone", "3ranks"])
EXPORT = [TOOLS / "export_model.py", "--format", "pt2"]
LAUNCHERS_OWN = ("ompi.", "pmix", "prte")  # Open MPI's session folders


@pytest.fixture(scope="module")
def prepared(data_dir: Path, cache_dir: Path) -> Prepared:
    return Prepared(data_dir, cache_dir)


@pytest.fixture(scope="module")
def tiny(cache_dir: Path) -> Path:
    """The small model of the other tests, compiled; its card leaves the normalisation to the data set."""
    model = f"{ROOT / 'tests' / 'end_to_end' / 'support' / 'small.py'}:TinyNet"
    shape = f"3,{small.HEIGHT},{small.WIDTH}"
    return Cache(cache_dir).tool("tiny.pt2", *EXPORT, "--model", model, "--input-shape", shape)


def counts(result: Result) -> list[int]:
    evaluated = result.report["samples"]["evaluated"]
    return [round(result.value(name) * evaluated) for name in ("accuracy", "accuracy_top5")]


@pytest.mark.parametrize(("network", "ranks"), [("mnist_convnet", (1, 3)), ("cifar_resnet20", (1, 2, 3, 5, 8))])
def test_small_networks(network: str, ranks: tuple[int, ...], prepared: Prepared, evaluate: Evaluate) -> None:
    data = prepared.data_of(network)
    results = [evaluate(prepared.package(network), data, ranks=count) for count in ranks]
    check_known(results[0], network)
    check_same_digests(results)
    assert counts(results[0]) == counts(evaluate(prepared.trained_model(network), data))


def test_a_larger_network_on_1_and_3_ranks(prepared: Prepared, evaluate: Evaluate) -> None:
    network, limit = "squeezenet1_1", 260
    data, package = prepared.data_of(network), prepared.package(network)
    three = evaluate(package, data, ranks=3, limit_s=200)
    check_known(three, network)
    forms = [evaluate(form, data, "--limit", limit) for form in (package, prepared.trained_model(network))]
    assert counts(forms[0]) == counts(forms[1])
    check_same_digests([forms[0], evaluate(package, data, "--limit", limit, ranks=3)])


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_swappable_weights(suffix: str, prepared: Prepared, evaluate: Evaluate) -> None:
    network = "cifar_resnet20"
    package, data = prepared.swappable_package(network), prepared.data_of(network)
    assert evaluate(package, data).value("accuracy") < 0.3
    result = evaluate(package, data, "--weights", prepared.weights(network, suffix), ranks=2)
    check_known(result, network)


def test_frozen_weights_name_the_flag(prepared: Prepared, tally: Program, tmp_path: Path) -> None:
    network = "cifar_resnet20"
    arguments = ["--model", prepared.package(network), "--data", prepared.data_of(network), "--output", tmp_path / "run"]
    weights = prepared.weights(network, ".pth")
    tally("evaluate", *arguments, "--weights", weights, ranks=2).must_fail(4, "--swappable")


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if not path.name.startswith(LAUNCHERS_OWN)]


@pytest.fixture
def run(tally: Program, small_case: Small, tmp_path: Path):  # noqa: ANN201
    """Runs a package on the small data set with a temporary folder of its own, in which nothing may stay."""

    def start(command: str, model: Path, *options: object, ranks: int | None = None) -> Run:
        temporary = tmp_path / "temporary"
        temporary.mkdir(exist_ok=True)
        words = [command, "--model", model, "--data", small_case.data, "--output", tmp_path / "run", *options]
        done = tally(*words, "--progress", "off", ranks=ranks, env={"TMPDIR": str(temporary)})
        assert left_in(temporary) == []
        return done

    return start


@RANKS
def test_good_one(ranks: int | None, run, tiny: Path, small_case: Small) -> None:  # noqa: ANN001
    run("evaluate", tiny, ranks=ranks).must_succeed()


@pytest.mark.parametrize("name", BAD_PACKAGES)
def test_bad_one(name: str, run, tiny: Path, tmp_path: Path) -> None:  # noqa: ANN001
    change, says = BAD_PACKAGES[name]
    path = tmp_path / f"{name}.pt2"
    packages.write(path, change(packages.read(tiny)))
    run("evaluate", path, ranks=3 if name in ("damaged", "no_elf") else None).must_fail(4, path.name, says)


def test_cut_short(run, tiny: Path, tmp_path: Path) -> None:  # noqa: ANN001
    content = tiny.read_bytes()
    path = tmp_path / "cut.pt2"
    for size in (100, len(content) // 2, len(content) - 30):
        path.write_bytes(content[:size])
        run("evaluate", path).must_fail(4, "cut.pt2", "was cut short")


def test_foreign_package(run, tmp_path: Path) -> None:  # noqa: ANN001
    path = tmp_path / "exported.pt2"
    torch.export.save(torch.export.export(small.TinyNet().eval(), (torch.zeros(2, 3, 8, 8),)), path)
    run("evaluate", path).must_fail(4, "exported.pt2", "it holds no compiled code", "--format pt2")


@pytest.mark.parametrize("wrong", ["shape", "channels", "classes", "batch"])
def test_data_set_of_another_kind(wrong: str, run, tiny: Path, tmp_path: Path) -> None:  # noqa: ANN001
    """Compiled code would read past the end of such inputs, without a word."""
    entries = packages.read(tiny)
    card = packages.card_of(entries)
    if wrong == "shape":
        card["inputs"][0]["shape"][2] = 9
    elif wrong == "channels":
        card["inputs"][0]["shape"][1] = 1
    elif wrong == "classes":
        card["num_classes"] = 9
    else:
        card["fixed_batch"] = 16
    path = tmp_path / "other.pt2"
    packages.write(path, packages.with_card(entries, **card))
    run("evaluate", path, "--batch-size", 8).must_fail(4, "other.pt2")


def test_gpu_is_not_there(run, tiny: Path) -> None:  # noqa: ANN001
    run("evaluate", tiny, "--device", "cuda").must_fail(5, "GPU", "--device cpu")


def test_plan_and_inspection(run, tiny: Path, tally: Program) -> None:  # noqa: ANN001
    assert "precision" in run("check", tiny).must_succeed().stdout
    text = tally("inspect", tiny).must_succeed().stdout
    for part in ("AOTInductor", "compiled for: cpu", "precision: fp32", "image", "logits", "frozen", ".wrapper.so"):
        assert part in text


@pytest.mark.parametrize("sight", ["/libtorch.so", "memfd:tally-model"])
def test_nothing_is_left_after_a_kill(
    sight: str, tally: Program, tiny: Path, small_case: Small, tmp_path: Path
) -> None:
    """Killed at the moment at which a library is seen in the process: LibTorch's own, then the package's."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ["evaluate", "--model", tiny, "--data", small_case.data, "--output", tmp_path / "run", "--batch-size", 1]
    process = tally.start(tally.command(*words), env={"TMPDIR": str(temporary)})
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 30
    while sight not in maps.read_text():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert left_in(temporary) == []


def most_threads(process: subprocess.Popen) -> int:
    tasks, most = Path(f"/proc/{process.pid}/task"), 0
    while process.poll() is None:
        most = max(most, len(list(tasks.iterdir())) if tasks.is_dir() else 0)
    process.communicate()
    assert process.returncode == 0
    return most


def test_threads_are_obeyed(tally: Program, prepared: Prepared, tmp_path: Path) -> None:
    """A package compiled on a machine of many cores starts no more threads elsewhere than a TorchScript does.

    Which has two more, beside the one that leads, for its micro-batches.
    """
    network, found = "cifar_resnet20", {}
    for model in (prepared.package(network), prepared.trained_model(network)):
        for threads in (1, 3):
            words = ["evaluate", "--model", model, "--data", prepared.data_of(network), "--output", tmp_path / "run"]
            command = tally.command(*words, "--threads", threads, "--batch-size", 8, "--overwrite")
            found[model.suffix, threads] = most_threads(tally.start(command))
    assert found[".pt2", 1] == found[".pt", 1] < found[".pt2", 3]
    assert found[".pt2", 3] + 2 == found[".pt", 3]
