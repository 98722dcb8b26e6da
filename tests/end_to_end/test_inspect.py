# SPDX-License-Identifier: Apache-2.0
"""`tally inspect`: what each kind of file holds, and a checked copy of a data set."""

import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
import torch
from conftest import Evaluate, Result, Small
from corrupt import flip_byte
from launch import Program
from safetensors.torch import save_file
from schema_examples import write_schema_examples
from tally_data import DataSetWriter


@pytest.fixture(scope="module")
def result(small_case: Small, evaluate: Evaluate) -> Result:
    return evaluate(small_case.model, small_case.data)


def test_data_set(tally: Program, small_case: Small) -> None:
    text = tally("inspect", small_case.data).must_succeed().stdout
    for part in ("multiclass", "103", "7", "/inputs/image", "uint8", "RGB", "/targets/label", "int64", "class 0"):
        assert part in text
    tally("inspect", small_case.data, "--verify").must_succeed()


def test_data_sets_of_the_schema_page(tally: Program, tmp_path: Path) -> None:
    says = {
        "findings.h5": ("task multilabel, 500 samples, 3 labels", "uint8 [500, 3]", "; 1 ignored", "label 2 'c': "),
        "pets.h5": ("task multiclass, 1000 samples, 3 classes", "int64 [1000]", "class 1 'dog': "),
        "prices.h5": ("task regression, 500 samples, 1 output,", "float32 [500]", "output 0 'price': min -"),
    }
    for path in write_schema_examples(tmp_path):
        text = tally("inspect", path, "--verify").must_succeed().stdout
        for part in (*says.pop(path.name), "verified: all"):
            assert part in text
    assert not says


BAD_TARGETS = [
    ("binary", 2, [0, 1, 0, 1], 2, "/targets/label[3] = 2, expected 0..1"),
    ("multilabel", 2, [[0, 1]] * 4, 7, "/targets/label[3, 1] = 7, expected 0..1"),
    ("regression", 1, np.ones(4, np.float32), np.nan, "/targets/label[3] = nan, expected finite numbers"),
]


@pytest.mark.parametrize(("task", "num_classes", "rows", "bad", "says"), BAD_TARGETS)
def test_targets_that_are_not_allowed(
    task: str, num_classes: int, rows: object, bad: object, says: str, tally: Program, tmp_path: Path
) -> None:
    path = tmp_path / "bad.h5"
    with DataSetWriter(path, task=task, num_classes=num_classes, num_samples=4, checksums=False) as out:
        out.add_input("x", dtype="float32", data=np.zeros(4, np.float32))
        out.add_target("label", rows)
    tally("inspect", path, "--verify").must_succeed()
    with h5py.File(path, "r+") as file:
        file["targets/label"][(3, 1) if task == "multilabel" else 3] = bad
    assert f"  {says}\n" in tally("inspect", path).must_succeed().stdout
    tally("inspect", path, "--verify").must_fail(3, "bad.h5", says)


def test_verify_finds_damage(tally: Program, small_case: Small, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(small_case.data.read_bytes())
    flip_byte(damaged, "/inputs/image", 5000)
    tally("inspect", damaged).must_succeed()
    tally("inspect", damaged, "--verify").must_fail(3, "damaged.h5", "/inputs/image")
    tally("inspect", tmp_path / "typo.h5", "--verify").must_fail(2, "typo.h5", "No such file")


def test_model(tally: Program, small_case: Small) -> None:
    text = tally("inspect", small_case.model).must_succeed().stdout
    for part in ("TorchScript", "image", "logits", "conv.weight", "[12, 3, 3, 3]"):
        assert part in text


@pytest.mark.parametrize("suffix", ["pth", "safetensors"])
def test_weights(suffix: str, tally: Program, tmp_path: Path) -> None:
    path = tmp_path / f"weights.{suffix}"
    state = small.TinyNet().state_dict()
    save_file(state, path) if suffix == "safetensors" else torch.save(state, path)
    text = tally("inspect", path).must_succeed().stdout
    for part in ("linear.weight", "[7, 12]", "float32"):
        assert part in text


def test_the_key_names_one_of_several_weights(tally: Program, small_case: Small, tmp_path: Path) -> None:
    path = tmp_path / "training.pt"
    torch.save({"model": {"mine": torch.zeros(3)}, "other": {"teacher": {"yours": torch.zeros(4)}}}, path)
    assert "  mine float32 [3]" in tally("inspect", path).must_succeed().stdout
    text = tally("inspect", path, "--weights-key", "other.teacher").must_succeed().stdout
    assert "found at: other.teacher" in text and "  yours float32 [4]" in text and "mine" not in text
    tally("inspect", path, "--weights-key", "others").must_fail(4, "it has no entry 'others'", "'other' (a dict)")
    tally("inspect", small_case.model, "--weights-key", "model").must_fail(4, "is a TorchScript model, not weights")


@pytest.mark.parametrize("form", ["zip", "legacy", "safetensors"])
def test_weights_that_are_cut_short(form: str, tally: Program, tmp_path: Path) -> None:
    state = {"a": torch.zeros(1000)}
    path = tmp_path / "weights.bin"
    if form == "safetensors":
        save_file(state, path)
    else:
        torch.save(state, path, _use_new_zipfile_serialization=form == "zip")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    run = tally("inspect", path).must_fail(4, "cut short", "Copy or download the file again.")
    assert "expected" not in run.errors[0] and "tally inspect" not in run.errors[0]


@pytest.mark.parametrize("given", ["", "model.safetensors.index.json"])
def test_weights_in_shards(given: str, tally: Program, tmp_path: Path) -> None:
    state = small.TinyNet().state_dict()
    weight_map = {name: f"model-{index}.safetensors" for index, name in enumerate(state)}
    for name, file in weight_map.items():
        save_file({name: state[name]}, tmp_path / file)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    text = tally("inspect", tmp_path / given).must_succeed().stdout
    for part in (f"{len(state)} safetensors files", "model-1.safetensors (", "linear.weight", "[7, 12]"):
        assert part in text


def test_results(tally: Program, result: Result) -> None:
    report = tally("inspect", result.folder / "report.json").must_succeed().stdout
    assert "accuracy" in report
    assert result.report["digests"]["state"] in report
    predictions = tally("inspect", result.folder / "predictions.h5").must_succeed().stdout
    assert all(name in predictions for name in ("103", "label_rank", "int32", "confidence"))
    metrics = tally("inspect", result.folder / "metrics.h5").must_succeed().stdout
    assert "confusion" in metrics
    assert tally("inspect", result.folder).must_succeed().stdout == report
    form = result.report["environment"]["model_form"]
    assert f"\nform: {form}\n" in report
    assert f"\nForm      {form}\n" in result.run.stdout


def test_a_trace_is_named(tally: Program, small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    evaluate(small_case.model, small_case.data, "--trace", tmp_path / "trace.json")
    text = tally("inspect", tmp_path / "trace.json").must_succeed().stdout
    assert "trace.json' is the trace of a run: open it in https://ui.perfetto.dev" in text
    os.mkfifo(tmp_path / "pipe.json")
    tally("inspect", tmp_path / "pipe.json").must_fail(2, "pipe.json")


def test_only_data_sets_are_verified(tally: Program, small_case: Small, result: Result, tmp_path: Path) -> None:
    for path in (small_case.model, result.folder / "predictions.h5", result.folder / "report.json"):
        tally("inspect", path, "--verify").must_fail(2, "--verify", path.name)
    tally("inspect", small_case.data, "--verify", "--add-checksums", tmp_path / "copy.h5").must_fail(2, "--verify")
    assert not list(tmp_path.iterdir())


def test_files_that_are_nothing(tally: Program, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("nothing\n")
    plain = tmp_path / "plain.h5"
    with h5py.File(plain, "w") as file:
        file["values"] = [1, 2, 3]
    other = tmp_path / "other.json"
    other.write_text("{}")
    tally("inspect", other).must_fail(2, "other.json", "is JSON with other keys", "A run leaves report.json")
    tally("inspect", tmp_path).must_fail(2, tmp_path.name, "without a report.json", "the folder of a result")
    for path in (text, plain, other, tmp_path / "missing"):
        run = tally("inspect", path)
        assert run.code in (2, 3, 4)
        run.must_fail(run.code, path.name)
    tally("inspect", text).must_fail(2, "notes.txt' is a text, none that tally knows", "Name a data set")
    text.write_text('{"time": 3}\n')
    tally("inspect", text).must_fail(2, "is a text, none that tally knows")
    text.write_bytes(b"nothing\x00\n")
    tally("inspect", text).must_fail(4, "notes.txt")
    tally("inspect").must_fail(2, "file")


def test_events_are_named(tally: Program, result: Result) -> None:
    tally("inspect", result.folder / "events.jsonl").must_fail(2, "holds the events of a run", "report.json beside it")


def test_checksums_are_added(tally: Program, small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    plain = small_case.samples.write(tmp_path / "plain.h5", checksums=False)
    checked = tmp_path / "checked.h5"
    tally("inspect", plain, "--add-checksums", checked).must_succeed()
    with h5py.File(plain) as one, h5py.File(checked) as other:
        for name in ("inputs/image", "targets/label", "class_names"):
            assert (one[name][...] == other[name][...]).all()
        assert dict(one["inputs/image"].attrs).keys() == dict(other["inputs/image"].attrs).keys()
        assert dict(one.attrs) == dict(other.attrs)
        assert set(other["checksums/inputs"]) == {"image"}
    before, after = (evaluate(small_case.model, path) for path in (plain, checked))
    assert before.digests == after.digests
    assert after.report["inputs"]["data"]["integrity"] == "checked"
    flip_byte(checked, "/targets/label", 0)
    arguments = ["--model", small_case.model, "--data", checked, "--output", tmp_path / "run"]
    tally("evaluate", *arguments).must_fail(3, "checked.h5", "/targets/label")


def test_checksums_are_not_added_to_an_existing_file(tally: Program, small_case: Small, tmp_path: Path) -> None:
    target = tmp_path / "target.h5"
    target.write_text("in the way")
    tally("inspect", small_case.data, "--add-checksums", target).must_fail(6, "target.h5")
    assert target.read_text() == "in the way"


def test_card_is_shown(tally: Program, tmp_path: Path) -> None:
    card = small.card(source={"model": "tests:a_network", "torch": torch.__version__, "weights": None})
    model = small.save_model(small.TinyNet(), tmp_path / "net.pt", json.dumps(card))
    assert "tests:a_network" in tally("inspect", model).must_succeed().stdout
