# SPDX-License-Identifier: Apache-2.0
"""`tally compare` of every task: what fewer columns, other options and samples without scores give."""

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from conftest import Evaluate
from launch import Program
from paired_tasks import METRICS, Case, case, cases, compare, linear_model


@pytest.mark.parametrize("task", ["binary", "multilabel"])
def test_of_labels_alone(task: str, cases: Callable[[str], Case], tally: Program, evaluate: Evaluate) -> None:
    case = cases(task)
    runs = tuple(evaluate(model, case.data, "--metrics", METRICS[task]) for model in case.models)
    found = compare(tally, runs, "--metrics", "all")
    for name, metric in found["metrics"].items():
        made_of_rounded = name in ("loss", "brier", "hinge")
        value = runs[0].value(name)
        assert metric["a"] == (pytest.approx(value, rel=1e-6) if made_of_rounded else value), name
    reasons = {entry["metric"]: entry["reason"] for entry in found["left_out"]}
    if task == "binary":  # the score is one of the columns
        assert reasons == {}
        return
    assert {"brier", "coverage_error", "auroc_macro"} <= set(reasons)
    assert all("--save labels,probabilities gives it" in reason for reason in reasons.values())
    a, b = (run.folder for run in runs)
    tally("compare", a, b, "--metrics", "auroc_macro").must_fail(2, "auroc_macro", "probabilities", "missing in A and B")


def test_probabilities_give_all_but_the_loss(
    cases: Callable[[str], Case], tally: Program, evaluate: Evaluate
) -> None:
    case = cases("multilabel")
    runs = tuple(evaluate(model, case.data, "--metrics", METRICS["multilabel"], "--save", "labels,probabilities")
                 for model in case.models)  # fmt: skip
    found = compare(tally, runs, "--metrics", METRICS["multilabel"])
    assert found["left_out"] == []
    for name, metric in found["metrics"].items():
        value = runs[1].value(name)
        assert metric["b"] == (pytest.approx(value, rel=1e-6) if name in ("loss", "brier", "hinge") else value), name


@pytest.mark.parametrize("task", ["binary", "multilabel"])
def test_another_threshold_is_as_if_evaluated_at_as(task: str, cases: Callable[[str], Case], tally: Program,
                                                    evaluate: Evaluate) -> None:  # fmt: skip
    case = cases(task)
    options = ("--metrics", METRICS[task], "--save", "labels,probabilities,logits", "--threshold", 0.3)
    other = evaluate(case.models[1], case.data, *options)
    assert other.value("accuracy") != case.runs[1].value("accuracy")
    found = compare(tally, (case.runs[0], other), "--metrics", METRICS[task], "--changed", 1000)
    assert found["notes"] == ["B was evaluated with --threshold 0.3; both are compared at A's, 0.5"]
    for key in ("accuracy", "exact_match", "metrics", "changes"):
        assert found[key] == case.found[key], key


def test_thresholds_need_probabilities(cases: Callable[[str], Case], tally: Program, evaluate: Evaluate) -> None:
    case = cases("multilabel")
    a, b = (evaluate(case.models[0], case.data, "--threshold", threshold).folder for threshold in (0.5, 0.3))
    tally("compare", a, b).must_fail(2, "thresholds 0.5 and 0.3", "--save labels,probabilities")


def test_scikit_learns_hinge_needs_logits(cases: Callable[[str], Case], tally: Program, evaluate: Evaluate) -> None:
    case = cases("binary")
    options = ("--definitions", "sklearn", "--metrics", "hinge", "--save")
    with_logits, without = (evaluate(case.models[0], case.data, *options, save) for save in ("labels,logits", "labels"))
    found = compare(tally, (with_logits, with_logits), "--metrics", "hinge")
    assert found["metrics"]["hinge"]["a"] == with_logits.value("hinge")
    a, b = with_logits.folder, without.folder
    tally("compare", a, b, "--metrics", "hinge").must_fail(2, "'logits', missing in B", "--save labels,logits gives it")


def test_two_scores_of_one_label(cases: Callable[[str], Case], tally: Program, evaluate: Evaluate,
                                 tmp_path: Path) -> None:  # fmt: skip
    case = cases("binary")
    weights = np.random.default_rng(9).normal(size=(5, 2)).astype(np.float32)
    model = linear_model(weights, tmp_path / "two.pt")
    run = evaluate(model, case.data, "--metrics", METRICS["binary"], "--save", "labels,logits")
    found = compare(tally, (case.runs[0], run), "--metrics", METRICS["binary"])
    for name, metric in found["metrics"].items():
        made_of_rounded = name in ("loss", "brier", "hinge")
        value = run.value(name)
        assert metric["b"] == (pytest.approx(value, rel=1e-6) if made_of_rounded else value), name


def test_sixteen_bit_curves_are_those_of_a(cases: Callable[[str], Case], tally: Program, evaluate: Evaluate) -> None:
    case = cases("binary")
    coarse = evaluate(case.models[1], case.data, "--metrics", "auroc", "--curves", "bf16")
    assert coarse.value("auroc") != case.runs[1].value("auroc")
    found = compare(tally, (case.runs[0], coarse), "--metrics", "auroc")
    assert found["metrics"]["auroc"]["b"] == case.runs[1].value("auroc")
    assert found["notes"] == ["B was evaluated with --curves bf16; both are compared by A's, exact"]
    of_coarse = compare(tally, (coarse, coarse), "--metrics", "auroc")
    assert of_coarse["metrics"]["auroc"]["a"] == coarse.value("auroc")


class NanWhereLarge(torch.nn.Module):
    def __init__(self, weights: torch.Tensor) -> None:
        super().__init__()
        self.net = torch.nn.Linear(weights.shape[1], weights.shape[0])
        self.net.weight.data = weights
        self.net.bias.data.zero_()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x[:, :1] > 1.8, torch.full_like(self.net(x), torch.nan), self.net(x))


def test_samples_without_scores(case: Case, tally: Program, evaluate: Evaluate, tmp_path: Path) -> None:
    weights = torch.jit.load(str(case.models[1])).weight.data
    torch.jit.script(NanWhereLarge(weights)).save(str(tmp_path / "nan.pt"))
    save = "labels" if case.task == "regression" else "labels,probabilities,logits"
    b = evaluate(tmp_path / "nan.pt", case.data, "--metrics", METRICS[case.task], "--save", save, "--on-nan", "wrong")
    count = b.report["non_finite"]["count"]
    assert count > 0
    found = compare(tally, (case.runs[0], b), "--metrics", METRICS[case.task], "--changed", 1000)
    for name, metric in found["metrics"].items():
        assert metric["b"] == b.value(name), name
    nowhere = [change for change in found["changes"]["first"] if change["b"]["prediction"] in (None, -1, [None] * 2)]
    assert 0 < len(nowhere) <= count
    if case.task == "regression":
        assert found["changes"]["first"][: count] == nowhere
    assert found["notes"] == [f"outputs of 0 samples in A and {count} in B are NaN or Inf: metrics that leave them out "
                              "are of other samples in A than in B, and say nothing of which is better"]  # fmt: skip
    leaves_out = {"regression": "mse"}.get(case.task, "loss")
    assert found["metrics"][leaves_out]["better"] is None
    alone = compare(tally, (case.runs[0], b), "--metrics", leaves_out)["conclusion"]
    assert alone["better"] is None and "leave out other samples" in alone["sentence"]


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
def test_what_was_saved_makes_no_difference(task: str, cases: Callable[[str], Case], tally: Program,
                                            evaluate: Evaluate) -> None:  # fmt: skip
    case = cases(task)
    runs = tuple(evaluate(case.models[0], case.data, "--metrics", "all", "--save", save)
                 for save in ("labels,logits", "labels,probabilities"))  # fmt: skip
    found = compare(tally, runs, "--metrics", "all")
    assert {name: metric["difference"] for name, metric in found["metrics"].items() if metric["difference"]} == {}
    assert "brier" in found["metrics"] and found["conclusion"]["better"] is None


class Masked(torch.nn.Module):
    """Two scores; the first is impossible now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.net(x)
        first = torch.where(x[:, :1] > 1, torch.full_like(scores[:, :1], -torch.inf), scores[:, :1])
        return torch.cat([first, scores[:, 1:]], 1)


def test_a_class_without_a_chance(cases: Callable[[str], Case], tally: Program, evaluate: Evaluate,
                                  tmp_path: Path) -> None:  # fmt: skip
    torch.jit.script(Masked()).save(str(tmp_path / "masked.pt"))
    run = evaluate(tmp_path / "masked.pt", cases("binary").data, "--metrics", "loss,auroc", "--save", "labels,logits")
    found = compare(tally, (run, run), "--metrics", "loss,auroc")
    assert found["metrics"]["loss"]["a"] == pytest.approx(run.value("loss"), rel=1e-6)
    assert found["metrics"]["auroc"]["a"] == run.value("auroc")
    assert found["notes"] == []


def test_models_of_probabilities_are_told_to_save_them(cases: Callable[[str], Case], tally: Program,
                                                       evaluate: Evaluate, tmp_path: Path) -> None:  # fmt: skip
    case = cases("multiclass")
    net = torch.nn.Sequential(torch.jit.load(str(case.models[0])), torch.nn.Softmax(1))
    torch.jit.script(net).save(str(tmp_path / "softmax.pt"))
    options = ("--outputs", "probabilities", "--definitions", "sklearn", "--metrics", "hinge,auroc_macro")
    run = evaluate(tmp_path / "softmax.pt", case.data, *options)
    for metric in ("hinge", "auroc_macro"):
        failed = tally("compare", run.folder, run.folder, "--metrics", metric)
        failed.must_fail(2, "'probabilities', missing in A and B", "--save labels,probabilities")


@pytest.mark.parametrize("saved", ["labels,probabilities", "labels,logits"])
def test_scores_of_a_lost_prediction_are_noticed(saved: str, cases: Callable[[str], Case], tally: Program,
                                                 evaluate: Evaluate, tmp_path: Path) -> None:  # fmt: skip
    case = cases("multiclass")
    a, b = (evaluate(case.models[0], case.data, "--save", save).folder for save in (saved, "labels,logits"))
    shutil.copyfile(b / "predictions.h5", tmp_path / "predictions.h5")
    with h5py.File(tmp_path / "predictions.h5", "r+") as file:
        for column, value in (("prediction", -1), ("label_rank", -1), ("loss", np.nan), ("confidence", np.nan)):
            file[column][5] = value
    tally("compare", a, tmp_path, "--metrics", "brier").must_fail(3, "/logits[5] = finite scores", "prediction -1")
