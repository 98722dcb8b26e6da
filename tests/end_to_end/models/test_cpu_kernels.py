# SPDX-License-Identifier: Apache-2.0
"""--cpu-kernels: what networks run on CPUs, and what the same run gives with LibTorch's operators alone."""

import os
from pathlib import Path

import pytest
from conftest import Evaluate, Result, Small
from known_results import check_known, check_same_digests
from launch import Program
from prepared import Prepared
from small import report
from watch_runs import Watch, model_and_data, write_checkpoint

NETWORK = "cifar_resnet20"
TUNE = "--tune=true"  # Open MPI's mpirun takes --tune, also behind the program's name, for its own


@pytest.fixture(scope="module")
def prepared(data_dir: Path, cache_dir: Path) -> Prepared:
    return Prepared(data_dir, cache_dir)


def form(result: Result) -> str:
    return result.report["environment"]["model_form"]


def is_x86() -> bool:
    return os.uname().machine == "x86_64" and "avx2" in Path("/proc/cpuinfo").read_text().split()


AVX2 = pytest.mark.skipif(not is_x86(), reason="this processor has no AVX2, and runs none of the own kernels")


def test_torch_runs_the_operators_of_the_model(prepared: Prepared, evaluate: Evaluate) -> None:
    model, data = prepared.trained_model(NETWORK), prepared.data_of(NETWORK)
    plain = [evaluate(model, data, "--cpu-kernels", "torch", ranks=ranks) for ranks in (1, 2, 3, 5)]
    check_same_digests(plain)
    check_known(plain[0], NETWORK)
    assert form(plain[0]) == "TorchScript, LibTorch's operators alone"
    compiled = evaluate(model, data)
    assert form(compiled) != form(plain[0])
    assert compiled.report["digests"]["class"] != plain[0].report["digests"]["class"]


@AVX2
def test_own_kernels_obey_the_cap_of_onednn(prepared: Prepared, evaluate: Evaluate) -> None:
    model, data = prepared.trained_model(NETWORK), prepared.data_of(NETWORK)
    assert "Winograd" in form(evaluate(model, data))
    capped = evaluate(model, data, env={"ONEDNN_MAX_CPU_ISA": "SSE41"})
    assert "Winograd" not in form(capped)
    check_known(capped, NETWORK)


@AVX2
def test_own_pools_obey_it_too(prepared: Prepared, evaluate: Evaluate) -> None:
    model, data = prepared.trained_model("mnist_convnet"), prepared.data_of("mnist_convnet")
    assert "pools without indices" in form(evaluate(model, data))
    capped = evaluate(model, data, env={"ONEDNN_MAX_CPU_ISA": "SSE41"})
    assert "pools" not in form(capped)
    check_known(capped, "mnist_convnet")


@AVX2
def test_ranks_that_differ_run_the_model_as_it_is(prepared: Prepared, tally: Program, tmp_path: Path) -> None:
    """A rank with the kernels of an older processor, beside one without."""
    model, data = prepared.trained_model(NETWORK), prepared.data_of(NETWORK)
    words = tally.command("evaluate", "--model", model, "--data", data, "--output", tmp_path / "out", "--progress", "off")
    command = [tally.launcher, "-n", "1", *words, ":", "-n", "1", "env", "ONEDNN_MAX_CPU_ISA=SSE41", *words]
    tally.run_command(command).must_succeed()
    found = Result(tmp_path / "out", report(tmp_path / "out"), None)
    assert form(found) == "TorchScript, LibTorch's operators alone"
    assert any("cannot compile the model alike" in note for note in found.report["notes"])
    check_known(found, NETWORK)


def test_packages_have_no_use_for_it(prepared: Prepared, evaluate: Evaluate) -> None:
    package, data = prepared.package("cifar_resnet20", "fp32"), prepared.data_of("cifar_resnet20")
    result = evaluate(package, data, "--cpu-kernels", "torch")
    assert any("--cpu-kernels changes nothing" in note for note in result.report["notes"])


def tuned(result: Result) -> str:
    """The form that --tune says it chose."""
    notes = [note for note in result.report["notes"] if note.startswith("--tune: ")]
    assert len(notes) == 1, result.report["notes"]
    chosen, took, _ = notes[0].removeprefix("--tune: '").partition("' takes ")
    assert took and " a batch; others: '" in notes[0]
    return chosen if chosen == "TorchScript" else f"TorchScript, {chosen}"


@pytest.mark.parametrize("options", [(), ("--batch-size", "auto")])
def test_ranks_tune_alike(prepared: Prepared, evaluate: Evaluate, options: tuple) -> None:
    model, data = prepared.trained_model(NETWORK), prepared.data_of(NETWORK)
    found = [evaluate(model, data, TUNE, "--device", "cpu", *options, ranks=ranks) for ranks in (1, 2)]
    classes: dict[str, Result] = {}
    for result in found:
        assert tuned(result) == form(result)
        assert result.report["digests"]["comparable"]
        check_known(result, NETWORK)
        same = classes.setdefault(result.report["digests"]["class"], result)
        assert same.digests == result.digests
    if len({(form(result), result.report["plan"]["batch_size"]) for result in found}) == 1:
        assert len(classes) == 1


def test_a_plan_shows_what_tuning_chose(prepared: Prepared, tally: Program) -> None:
    model, data = prepared.trained_model(NETWORK), prepared.data_of(NETWORK)
    run = tally("check", "--model", model, "--data", data, "--device", "cpu", TUNE, "--progress", "off", ranks=2)
    run.must_succeed()
    chosen = run.stderr.partition("--tune: '")[2].partition("' takes")[0]
    assert chosen
    assert any(line.split()[:1] == ["form"] and line.endswith(chosen) for line in run.stdout.splitlines()), run.stdout


def test_checkpoints_of_a_watch_run_in_one_way(tally: Program, small_case: Small, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    with Watch(tally, folder, output, *model_and_data(small_case), TUNE, "--device", "cpu", ranks=2) as watch:
        for step in (1, 2, 3):
            write_checkpoint(folder, step)
        (folder / "done").touch()
        run = watch.end()
    assert run.stderr.count("note: --tune") == 1, run.stderr
    results = [report(path) for path in (output / "results").iterdir()]
    assert len(results) == 3
    assert len({found["environment"]["model_form"] for found in results}) == 1


def test_there_is_nothing_to_tune_in_what_the_file_names(prepared: Prepared, evaluate: Evaluate) -> None:
    model, data = prepared.trained_model(NETWORK), prepared.data_of(NETWORK)
    result = evaluate(model, data, TUNE, "--device", "cpu", "--cpu-kernels", "torch")
    assert any("--tune changes nothing" in note for note in result.report["notes"])
    assert form(result) == "TorchScript, LibTorch's operators alone"
