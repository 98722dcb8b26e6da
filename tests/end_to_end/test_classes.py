# SPDX-License-Identifier: Apache-2.0
"""Which class a label means (--classes-by), and data sets that have some of the model's classes only (--valid-classes)."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
import torch
from conftest import Evaluate, Small
from launch import Program
from tally_data import DataSetWriter
from timm.data.real_labels import RealLabelsImagenet
from timm.utils import accuracy as timm_accuracy

ORDER = [3, 0, 6, 1, 2, 5, 4]  # class i of the data set is ORDER[i] of the model
NAMES = [f"class {ORDER.index(c)}" for c in range(small.NUM_CLASSES)]  # as the model calls its classes


@pytest.fixture(scope="module")
def named(small_case: Small, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model, whose card has the data set's names in another order."""
    path = tmp_path_factory.mktemp("named") / "net.pt"
    return small.save_model(small.TinyNet(), path, json.dumps(small.card(class_names=NAMES)))


@pytest.mark.parametrize("ranks", [None, 3])
def test_another_order_is_refused(named: Path, small_case: Small, tally: Program, tmp_path: Path, ranks: int | None) -> None:
    run = tally("evaluate", "--model", named, "--data", small_case.data, "--output", tmp_path / "run", ranks=ranks)
    run.must_fail(4, "0 'class 0' is the model's 3", "and 3 more", "--classes-by name")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("ranks", [1, 3])
def test_labels_by_name(named: Path, small_case: Small, evaluate: Evaluate, tmp_path: Path, ranks: int) -> None:
    found = evaluate(named, small_case.data, "--classes-by", "name", ranks=ranks)
    relabelled = replace(small_case.samples, labels=np.array(ORDER)[small_case.samples.labels])
    expected = evaluate(small_case.model, relabelled.write(tmp_path / "relabelled.h5"))
    assert found.digests == expected.digests
    assert found.report["metrics"] == expected.report["metrics"]
    assert [row["name"] for row in found.report["per_class"]] == NAMES
    assert found.report["digests"]["class"] != evaluate(named, small_case.data, "--classes-by", "index").report["digests"]["class"]


def test_inspect_knows_whose_classes_they_are(named: Path, small_case: Small, evaluate: Evaluate, tally: Program) -> None:
    saved = evaluate(named, small_case.data, "--classes-by", "name").folder
    shown = tally("inspect", saved, "--worst", 3).must_succeed().stdout
    assert "class 1" not in shown  # the names in the data set are those of other numbers
    tally("inspect", saved, "--worst", 3, "--class", "class 1").must_fail(2, "are the model's (--classes-by name)")
    tally("inspect", saved, "--worst", 3, "--class", 1).must_succeed()


def test_labels_by_index(named: Path, small_case: Small, evaluate: Evaluate) -> None:
    found = evaluate(named, small_case.data, "--classes-by", "index")
    assert found.digests == evaluate(small_case.model, small_case.data).digests


def test_saved_scores_of_labels_by_name_are_refused(
    named: Path, small_case: Small, evaluate: Evaluate, tally: Program, tmp_path: Path
) -> None:
    saved = evaluate(named, small_case.data, "--classes-by", "name", "--save", "logits").folder
    run = tally("score", "--predictions", saved, "--data", small_case.data, "--output", tmp_path / "run")
    run.must_fail(3, "--classes-by name")


VALID = [1, 2, 5]


@pytest.fixture(scope="module")
def of_few_classes(small_case: Small, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples of three classes, in their numbers of seven."""
    chosen = np.isin(small_case.samples.labels, VALID)
    part = replace(small_case.samples, images=small_case.samples.images[chosen], labels=small_case.samples.labels[chosen])
    return part.write(tmp_path_factory.mktemp("few") / "few.h5")


@pytest.mark.parametrize("ranks", [1, 3])
def test_valid_classes_as_timm_has_them(
    small_case: Small, of_few_classes: Path, evaluate: Evaluate, score: Evaluate, tmp_path: Path, ranks: int
) -> None:
    valid = tmp_path / "valid.txt"
    valid.write_text("class 2\n5\n1\n")
    saved = evaluate(small_case.model, of_few_classes, "--save", "labels,logits")
    with h5py.File(saved.folder / "predictions.h5") as file:
        logits, labels = torch.from_numpy(file["logits"][...]), torch.from_numpy(file["label"][...])
    # timm's validate.py --valid-labels: the other columns are left out before anything is computed.
    left, of_valid = logits[:, VALID], torch.tensor([VALID.index(label) for label in labels])
    top1, top2 = timm_accuracy(left, of_valid, topk=(1, 2))
    loss = torch.nn.functional.cross_entropy(left.double(), of_valid).item()
    options = ("--valid-classes", valid, "--metrics", "accuracy,accuracy_top2,loss,auroc_macro")
    found = evaluate(small_case.model, of_few_classes, *options, ranks=ranks)
    again = score(saved.folder, of_few_classes, *options, ranks=ranks)
    assert found.value("accuracy") == pytest.approx(top1.item() / 100, abs=1e-6)
    assert found.value("accuracy_top2") == pytest.approx(top2.item() / 100, abs=1e-6)
    assert found.value("loss") == pytest.approx(loss, rel=1e-12)
    assert again.report["metrics"] == found.report["metrics"]
    assert again.digests == found.digests
    assert found.value("accuracy") > saved.value("accuracy")
    rows = found.report["per_class"]
    assert [row["predicted"] for row in rows if row["class"] not in VALID] == [0] * 4
    assert any("3 of 7 classes are valid" in note for note in found.report["notes"])


def test_compare_wants_the_same_classes(
    named: Path, small_case: Small, evaluate: Evaluate, tally: Program, tmp_path: Path
) -> None:
    valid = tmp_path / "valid.txt"
    valid.write_text("1\n2\n5\n")
    among_all = evaluate(small_case.model, small_case.data)
    among_some = evaluate(small_case.model, small_case.data, "--valid-classes", valid)
    tally("compare", among_all.folder, among_some.folder).must_fail(3, "not scored among the same classes (--valid-classes)")
    tally("compare", among_some.folder, among_some.folder).must_succeed()
    by_name = evaluate(named, small_case.data, "--classes-by", "name")
    tally("compare", among_all.folder, by_name.folder).must_fail(3, "--classes-by name")


@pytest.mark.parametrize(
    ("text", "words"), [("7\n", "line 1: '7'"), ("1\nbird\n", "line 2: 'bird'"), ("", "name no class"), ("1\n1\n", "twice")]
)
def test_files_that_are_wrong(small_case: Small, tally: Program, tmp_path: Path, text: str, words: str) -> None:
    valid = tmp_path / "valid.txt"
    valid.write_text(text)
    options = ("--valid-classes", valid, "--output", tmp_path / "run")
    run = tally("evaluate", "--model", small_case.model, "--data", small_case.data, *options)
    run.must_fail(2, words)


@pytest.mark.parametrize("ranks", [1, 3])
def test_several_right_classes_as_timm_has_them(
    small_case: Small, evaluate: Evaluate, score: Evaluate, tally: Program, tmp_path: Path, ranks: int
) -> None:
    """As ImageNet's reassessed labels: each sample has a set of right classes, and without any it is not scored."""
    rng = np.random.default_rng(28)
    sets = [sorted(rng.choice(small.NUM_CLASSES, rng.integers(0, 4), replace=False).tolist()) for _ in small_case.samples.labels]
    data = tmp_path / "real.h5"
    with DataSetWriter(
        data, task="multiclass", num_classes=small.NUM_CLASSES, num_samples=len(sets), ignore_index=-1
    ) as out:
        out.add_image("image", height=8, width=8, encoding=small.ENCODING, data=small_case.samples.images)
        out.add_label_sets(sets)
    metrics = ("--metrics", "accuracy,accuracy_top3,loss")
    found = evaluate(small_case.model, data, *metrics, "--save", "labels,logits", ranks=ranks)
    (tmp_path / "real.json").write_text(json.dumps(sets))
    names = [f"ILSVRC2012_val_{i + 1:08d}.JPEG" for i in range(len(sets))]
    reference = RealLabelsImagenet(names, real_json=str(tmp_path / "real.json"), topk=(1, 3))
    columns = small.columns(found.folder / "predictions.h5")
    reference.add_result(torch.from_numpy(columns["logits"]))
    assert found.value("accuracy") == pytest.approx(reference.get_accuracy(k=1) / 100, abs=1e-12)
    assert found.value("accuracy_top3") == pytest.approx(reference.get_accuracy(k=3) / 100, abs=1e-12)
    assert found.report["samples"]["ignored"] == sum(not one for one in sets) > 0
    again = score(found.folder, data, *metrics, ranks=ranks)
    assert again.digests[0] == found.digests[0]
    assert again.report["metrics"] == found.report["metrics"]
    other = evaluate(small.save_model(small.TinyNet(seed=5), tmp_path / "other.pt"), data)
    tally("compare", found.folder, other.folder).must_succeed()
    shutil.copy(found.folder / "predictions.h5", tmp_path / "classes.h5")
    with h5py.File(tmp_path / "classes.h5", "r+") as file:
        del file["logits"]
    classes = score(tmp_path / "classes.h5", data, ranks=ranks)
    assert classes.report["metrics"].keys() == {"accuracy"} and classes.report["per_class"] == []
    assert classes.report["metrics"]["accuracy"] == found.report["metrics"]["accuracy"]
