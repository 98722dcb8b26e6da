# SPDX-License-Identifier: Apache-2.0
"""`tally inspect predictions.h5 --worst N` and its filters: the samples that matter, by name."""

import contextlib
import json
import os
import pty
import re
import struct
import subprocess
import termios
from dataclasses import replace
from fcntl import ioctl
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
import torch
from character_model import Trained, train_character_model
from conftest import Evaluate, Small
from launch import Program
from odd_models import Marking
from paired_tasks import linear_model
from pixel_sets import AsTheyAre, mask_scores, write_masks
from prepared_squad import prepare
from small_squad import V11, V20
from squad_stand_in import save_stand_in
from tally_data import DataSetWriter
from token_models import save_bigram


def listed(tally: Program, *words: object, says: str = "") -> list[int]:
    """The indices of a table's rows."""
    text = tally("inspect", *words).must_succeed().stdout
    heading, *lines = text.splitlines()
    assert says in heading
    if not lines:
        return []
    assert lines[0] == "rows:" and lines[1].split()[0] == "index"
    return [int(line.split()[0]) for line in lines[2:]]


@pytest.fixture(scope="module")
def saved(evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of samples with an ignored class, groups, and one whose outputs are not finite."""
    folder = tmp_path_factory.mktemp("samples")
    samples = small.make_set()
    groups = {"camera": (np.arange(103) % 4 - 1).astype(np.int32), "site": (np.arange(103) // 60).astype(np.int32)}
    samples = replace(samples, ignore_index=2, groups=groups).with_bright_sample(40)
    data = samples.write(folder / "set.h5")
    model = small.save_model(Marking(np.nan), folder / "model.pt", json.dumps(small.card()))
    result = evaluate(model, data, "--save", "labels,topk", "--on-nan", "wrong")
    return result.folder


def test_the_worst_are_those_of_the_largest_loss(tally: Program, saved: Path) -> None:
    file = saved / "predictions.h5"
    found = small.columns(file)
    label, prediction, loss = found["label"], found["prediction"], found["loss"]
    assert np.isnan(loss[40]) and prediction[40] == -1 and np.isnan(loss[label == 2]).all() and (label == 2).sum() > 3
    order = np.lexsort((np.arange(103), -np.nan_to_num(loss, nan=np.inf)))
    order = order[label[order] != 2]
    assert order[0] == 40
    for count in (1, 7, 1000):
        assert listed(tally, saved, "--worst", count, says=f"of {len(order)} matching rows (103 in all), largest loss first") == list(order[:count])
    site, camera = np.arange(103) // 60, np.arange(103) % 4 - 1
    wrong = prediction != label
    for words, kept in (
        (("--wrong",), wrong),
        (("--class", 3), label == 3),
        (("--class", "class 3"), label == 3),
        (("--predicted=class 1",), prediction == 1),
        (("--group", "site=1"), site == 1),
        (("--group", "site=1", "--group=camera=-1", "--wrong"), (site == 1) & (camera == -1) & wrong),
        (("--class", 4, "--predicted", 4, "--wrong"), wrong & False),
    ):
        assert listed(tally, file, "--worst", 5, *words) == [i for i in order if kept[i]][:5], words
        of_all = kept if "--wrong" not in words else kept & (label != 2)
        assert listed(tally, file, *words, "--show", 200, says="in order of index") == list(np.flatnonzero(of_all)), words
    assert listed(tally, file, "--wrong", says="20 of ")[-1] == np.flatnonzero(wrong & (label != 2))[19]


def test_names_and_groups_come_from_the_data_set(tally: Program, saved: Path, tmp_path: Path) -> None:
    found = small.columns(saved / "predictions.h5")
    text = tally("inspect", saved, "--show", 1).must_succeed().stdout.splitlines()
    assert re.split(r"  +", text[2].strip()) == ["index", "label", "prediction", "loss", "confidence", "label_rank", "topk", "camera", "site"]
    label, prediction = found["label"][0], found["prediction"][0]
    row = re.split(r"  +", text[3].strip())
    assert row[:3] == ["0", f"{label} class {label}", f"{prediction} class {prediction}"]
    assert row[6].startswith(f"{prediction} class {prediction}, ") and row[6].endswith(", …") and row[7:] == ["-1", "0"]
    with h5py.File(saved / "predictions.h5") as file:
        data = Path(file.attrs["data"].decode())
    moved, other = tmp_path / "moved.h5", tmp_path / "other.h5"
    moved.write_bytes(data.read_bytes())
    small.make_set(seed=4).write(other)
    alone = tmp_path / "alone.h5"
    alone.write_bytes((saved / "predictions.h5").read_bytes())
    with h5py.File(alone, "r+") as file:
        file.attrs["data"] = str(tmp_path / "gone.h5")
    run = tally("inspect", alone, "--show", 1).must_succeed()
    assert "note: names, groups and texts of the data set are not shown" in run.stderr and "gone.h5" in run.stderr
    assert re.split(r"  +", run.stdout.splitlines()[3].strip())[1] == str(label) and "camera" not in run.stdout
    assert tally("inspect", alone, "--show", 1, "--data", moved).must_succeed().stdout.splitlines()[1:] == text[1:]
    run = tally("inspect", alone, "--show", 1, "--data", other).must_succeed()
    assert "other.h5' is not the data set that was evaluated" in run.stderr and "camera" not in run.stdout
    tally("inspect", alone, "--class", "class 1").must_fail(2, "--class by name needs the data set", "gone.h5", "--data FILE")
    tally("inspect", alone, "--group", "site=1", "--data", other).must_fail(2, "--group needs the data set", "not the data set")
    tally("inspect", alone, "--show", 1, "--data", tmp_path / "gone.h5").must_fail(3, "gone.h5")
    assert listed(tally, alone, "--class", 1) == list(np.flatnonzero(found["label"] == 1)[:20])


REFUSED = [
    (("--worst", "0"), "--worst = '0' (command line), expected a whole number from 1"),
    (("--worst", "many"), "--worst = 'many'"),
    (("--worst",), "--worst (command line) has no value"),
    (("--worst", 3, "--show", 3), "--worst and --show exclude each other"),
    (("--worst", 3, "--verify"), "--verify is for data sets"),
    (("--wurst", 3), "Did you mean '--worst'?"),
    (("--class", "7"), "--class is 7, expected 0 to 6"),
    (("--predicted", "-1"), "--predicted is -1, expected 0 to 6"),
    (("--class", "clas 3"), "the data set has no class 'clas 3'. Did you mean 'class 3'?"),
    (("--group", "cameras=3"), "the data set has no group 'cameras'. Did you mean 'camera'?"),
    (("--group", "x\x1b=3"), "no group 'x\\x1b'. It has camera, site."),
    (("--group", "camera=9"), "--group: no sample has camera=9. There are -1, 0, 1, 2."),
    (("--group", "camera"), "expected NAME=VALUE with an integer"),
    (("--group", "camera=left"), "expected NAME=VALUE with an integer"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED)
def test_what_is_not_there_is_refused(words: tuple, says: str, tally: Program, saved: Path) -> None:
    tally("inspect", saved / "predictions.h5", *words).must_fail(2, says)


def test_other_files_have_no_rows(tally: Program, saved: Path, small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    for path in (saved / "report.json", saved / "metrics.h5", small_case.data, small_case.model):
        tally("inspect", path, "--worst", 3).must_fail(2, path.name, "holds no predictions, whose rows could be shown")
    tally("inspect", tmp_path / "gone.h5", "--wrong").must_fail(2, "gone.h5' does not exist")
    outputs = evaluate(small_case.model, small_case.data, "--save", "logits").folder / "predictions.h5"
    tally("inspect", outputs, "--worst", 3).must_fail(3, "has no column 'index'", "--save labels")


def test_every_task_has_its_own_order(tally: Program, evaluate: Evaluate, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    features = random.normal(size=(50, 4)).astype(np.float32)
    for task, outputs in (("binary", 1), ("multilabel", 3), ("regression", 2)):
        weights = random.normal(size=(4, outputs)).astype(np.float32)
        noisy = features @ weights + random.normal(size=(50, outputs))
        target = {"binary": noisy[:, 0] > 0, "multilabel": noisy > 0, "regression": noisy}[task]
        data = tmp_path / f"{task}.h5"
        names = None if task == "regression" else ["a\x1bb", "owl", "fox"][: max(2, outputs)]
        ignored = {"multilabel": 9}.get(task)
        with DataSetWriter(data, task=task, num_classes=max(2, outputs), num_samples=50, class_names=names, ignore_index=ignored) as out:
            out.add_input("x", dtype="float32", shape=(4,), data=features)
            target = target.astype({"binary": np.int64, "multilabel": np.uint8, "regression": np.float32}[task])
            if task == "multilabel":
                target[3], target[5] = 9, [9, 1, 0]
            out.add_target("label", target)
            out.add_group("row", 2 * np.arange(50))
        result = evaluate(linear_model(weights, tmp_path / f"{task}.pt"), data)
        found = small.columns(result.folder / "predictions.h5")
        order = np.argsort(-np.nan_to_num(found["loss"], nan=-1), kind="stable")
        scored = order if task != "multilabel" else order[:-1]
        assert (task == "multilabel") == (scored is not order)
        assert listed(tally, result.folder, "--worst", 100) == list(scored)
        assert listed(tally, result.folder, "--group", "row=6") == [3]
        some = "Among others there are 0, 2, 4, 6, 8, 10, 12, 14, 16, 18."
        tally("inspect", result.folder, "--group", "row=7").must_fail(2, "no sample has row=7", some)
        if task == "regression":
            tally("inspect", result.folder, "--wrong").must_fail(2, "--wrong is not for", "regression")
            tally("inspect", result.folder, "--class", 1).must_fail(2, "--class is not for", "a row has no class")
            continue
        has = target == 1 if task == "binary" else target[:, 1] == 1
        assert listed(tally, result.folder, "--class", "owl", "--show", 99) == list(np.flatnonzero(has))
        predicted = found["prediction"] == 1 if task == "binary" else found["prediction"][:, 1] == 1
        assert listed(tally, result.folder, "--predicted", 1, "--show", 99) == list(np.flatnonzero(predicted))
        different = (found["prediction"] != target) & (target != 9)
        wrong = different if task == "binary" else different.any(1)
        assert listed(tally, result.folder, "--wrong", "--show", 99) == list(np.flatnonzero(wrong))
        text = tally("inspect", result.folder, "--show", 9).must_succeed().stdout
        assert "0 a\\x1bb" in text and "\x1b" not in text


def test_images_by_their_share_of_right_pixels(tally: Program, evaluate: Evaluate, tmp_path: Path) -> None:
    scores, labels, ignored = mask_scores("ignored")
    labels[2] = np.where(labels[2] == 255, 255, scores[2].argmax(0))
    data = write_masks(tmp_path / "set.h5", scores, labels, ignored, groups=True)
    result = evaluate(small.save_model(torch.jit.script(AsTheyAre()), tmp_path / "model.pt"), data)
    found = small.columns(result.folder / "predictions.h5")
    with np.errstate(invalid="ignore"):
        share = np.where(found["pixels"] > 0, found["correct"] / found["pixels"], np.inf)
    assert found["pixels"][5] == 0 and share[2] == 1
    order = list(np.argsort(share, kind="stable"))
    assert order.pop() == 5  # of which nothing is scored
    assert listed(tally, result.folder, "--worst", 99, says="smallest share of right pixels first") == order
    expected = [i for i in order if share[i] < 1 and i % 2 == 0]
    assert listed(tally, result.folder, "--worst", 99, "--wrong", "--group", "site=0") == expected
    tally("inspect", result.folder, "--predicted", 1).must_fail(2, "--predicted is not for", "segmentation")


def test_questions_with_their_answers(tally: Program, evaluate: Evaluate, tmp_path: Path) -> None:
    data = prepare(tmp_path, V11, "--max-length", 40, "--stride", 10)
    with h5py.File(data, "r+") as file:
        file.create_dataset("groups/odd", data=(file["targets/unit"][...] % 2).astype(np.int32))
    model = save_stand_in(data, {"q-é": "tower", "q2": "Paris", "q3": "1889"}, tmp_path / "m.pt").model
    result = evaluate(model, data)
    f1 = small_f1(result.folder)
    assert 0 == f1[1] < f1[0] < f1[2] == 1
    text = tally("inspect", result.folder, "--worst", 2).must_succeed().stdout
    blocks = re.split(r"\n(?=index )", text)
    assert "2 of 3 rows, lowest f1 first" in blocks[0]
    assert [block.split()[1] for block in blocks[1:]] == ["1", "0"]
    lines = blocks[2].splitlines()
    assert re.match(r"index 0  f1 0\.666667  exact_match 0  score 20  span \[10, 15\]  odd 0$", lines[0])
    assert [re.split(r"  +", line.strip()) for line in lines[1:5]] == [
        ["id", "q-é"], ["question", "Which tower?"], ["gold answers", "café tower | The café"], ["prediction", "tower"],
    ]  # fmt: skip
    assert "中文 [SEP] ?" in blocks[1] and "😀" in blocks[1]
    for words, expected in ((("--wrong",), "0 1"), (("--group", "odd=1"), "1"), (("--group", "odd=0"), "0 2")):
        text = tally("inspect", result.folder, *words).must_succeed().stdout
        assert re.findall(r"^index (\d+)", text, re.M) == expected.split()
    tally("inspect", result.folder, "--class", 1).must_fail(2, "--class is not for", "question-answering")

    (tmp_path / "v2").mkdir()
    without = prepare(tmp_path / "v2", V20)
    model = save_stand_in(without, {"a": "", "b": ""}, tmp_path / "m2.pt").model
    text = tally("inspect", evaluate(model, without).folder, "--show", 2).must_succeed().stdout
    assert re.search(r"question +Who\?\n +gold answers +\(none\)\n +prediction\n", text)


def small_f1(folder: Path) -> np.ndarray:
    with h5py.File(folder / "predictions.h5") as file:
        return file["f1"][...]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train_character_model(tmp_path_factory.mktemp("letters") / "m.pt", "abcdefgh ij" * 20)


def test_documents_by_their_loss(tally: Program, evaluate: Evaluate, trained: Trained, tmp_path: Path) -> None:
    texts = {"none": "", "one": "abc", "two": "hhhhhh gg", "three": "aaa", "four": "ij ij ij"}
    data = trained.prepare(tmp_path, texts, "--max-length", 8)
    result = evaluate(save_bigram(tmp_path / "m.pt", len(trained.characters))[1], data)
    with h5py.File(result.folder / "predictions.h5") as file:
        losses = file["loss"][...]
    assert np.isnan(losses[0]) and np.isfinite(losses[1:]).all()
    text = tally("inspect", result.folder, "--worst", 9).must_succeed().stdout
    assert "4 of 4 matching rows (5 in all), largest loss first" in text
    assert re.findall(r"^index (\d+)", text, re.M) == [str(i) for i in np.argsort(-losses[1:], kind="stable") + 1]
    assert re.search(r"^ +id +three$", text, re.M)
    tally("inspect", result.folder, "--wrong").must_fail(2, "--wrong is not for", "language-model")


def test_choices_that_are_wrong(tally: Program, evaluate: Evaluate, trained: Trained, tmp_path: Path) -> None:
    asked = [{"id": f"q{i}", "question": "ab" * i + "c", "choices": ["aab", "gh", "d e"], "gold": i % 3} for i in range(6)]
    result = evaluate(save_bigram(tmp_path / "m.pt", len(trained.characters))[1], trained.prepare_choices(tmp_path, asked))
    with h5py.File(result.folder / "predictions.h5") as file:
        is_right = file["label"][...] == file["prediction"][...]
    wrong, right = ([str(i) for i in np.flatnonzero(which)] for which in (~is_right, is_right))
    assert wrong and right
    text = tally("inspect", result.folder, "--worst", 6).must_succeed().stdout
    assert "6 of 6 rows, wrong ones first" in text
    assert re.findall(r"^index (\d+)", text, re.M) == [*wrong, *right]
    text = tally("inspect", result.folder, "--wrong").must_succeed().stdout
    assert re.findall(r"^index (\d+)", text, re.M) == wrong
    assert re.search(r"^index \d  label \d  prediction \d  log_likelihood \[-\d+(\.\d+)?, -[\d.]+, -[\d.]+\]", text, re.M)
    assert re.search(r"id +q\d\n +question +[abc]+\n +choices +aab \| gh \| d e\n", text)


def test_lines_end_at_the_edge_of_a_terminal(tally: Program, saved: Path) -> None:
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    process = subprocess.run(tally.command("inspect", saved, "--worst", 3), stdout=slave, check=True, stderr=subprocess.DEVNULL)
    os.close(slave)
    text = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while piece := os.read(master, 4096):
            text += piece
    os.close(master)
    lines = text.decode().splitlines()
    assert process.returncode == 0 and len(lines) == 6
    assert all(len(line) <= 40 for line in lines)
    assert all(len(line) == 40 and line.endswith("…") for line in (lines[0], *lines[2:])) and lines[1] == "rows:"
    whole = tally("inspect", saved, "--worst", 3).must_succeed().stdout.splitlines()
    assert [line[:39] for line in lines] == [line[:39] for line in whole]
