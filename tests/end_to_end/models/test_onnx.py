# SPDX-License-Identifier: Apache-2.0
"""ONNX models: what ONNX Runtime gives, what the same network gives as TorchScript, and the same on any number of ranks."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import Evaluate

onnx = pytest.importorskip("onnx", reason="set-up without --with-openvino")
pytest.importorskip("onnxruntime")

import foreign_onnx as foreign  # noqa: E402
from known_results import check_known, check_same_digests  # noqa: E402
from launch import Program  # noqa: E402
from onnx_sets import CLASSES, check_scores, saved, set_of_images, set_of_numbers  # noqa: E402
from prepared import Prepared  # noqa: E402
from resumed_runs import ON_SIGNAL, Resumable, check_same, samples_behind  # noqa: E402
from task_cases import TaskCase  # noqa: E402

@pytest.fixture(scope="module")
def prepared(data_dir: Path, cache_dir: Path) -> Prepared:
    return Prepared(data_dir, cache_dir)


@pytest.mark.parametrize("name", foreign.OF_NUMBERS)
def test_networks_of_other_makers(name: str, evaluate: Evaluate, tmp_path: Path) -> None:
    model, values = tmp_path / "net.onnx", foreign.numbers(63)
    onnx.save(foreign.OF_NUMBERS[name](), model)
    data = set_of_numbers(tmp_path / "set.h5", values)
    rows = 7  # a batch; one network decides by the sum of it
    ran_as = ["--batch-size", rows, "--save", "probabilities" if name == "softmax" else "logits"]
    results = [evaluate(model, data, *ran_as, ranks=ranks) for ranks in (None, 2, 3, 5)]
    check_scores(results[0], *foreign.infer(model, {"x": values}, rows), probabilities=name == "softmax")
    check_same_digests(results)


def test_weights_in_other_files(evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    whole, parted, values = tmp_path / "whole.onnx", tmp_path / "parted.onnx", foreign.numbers()
    onnx.save(foreign.branching(), whole)
    # Each tensor has a file of its own, those in the branches too.
    onnx.save(foreign.branching(), parted, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0,
              convert_attribute=True)  # fmt: skip
    beside = [path for path in tmp_path.iterdir() if path not in (whole, parted)]
    assert len(beside) >= 2
    data = set_of_numbers(tmp_path / "set.h5", values)
    one, other = (evaluate(model, data, ranks=2) for model in (whole, parted))
    assert one.digests == other.digests
    files = [parted, *sorted(beside, key=lambda path: path.name)]
    assert other.report["inputs"]["model"]["bytes"] == sum(path.stat().st_size for path in files)
    beside[0].write_bytes(beside[0].read_bytes()[:-4])
    run = ["evaluate", "--model", parted, "--data", data, "--output", tmp_path / "run"]
    tally(*run, ranks=2).must_fail(4, "too short")
    os.truncate(beside[0], 10**13)
    tally(*run, ranks=2).must_fail(5, "of free memory")
    beside[0].unlink()
    tally(*run, ranks=2).must_fail(4, beside[0].name)


def test_weights_outside_of_the_folder(tally: Program, tmp_path: Path) -> None:
    model, data = tmp_path / "in" / "net.onnx", set_of_numbers(tmp_path / "set.h5", foreign.numbers())
    model.parent.mkdir()
    onnx.save(foreign.dense(), model, save_as_external_data=True, location="weights", size_threshold=0)
    content = model.read_bytes()
    shutil.move(model.parent / "weights", tmp_path / "eights")
    model.write_bytes(content.replace(b"weights", b"../eigh"))
    run = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "run")
    run.must_fail(4, "leads out of its folder")


def test_images_with_channels_last(evaluate: Evaluate, tmp_path: Path) -> None:
    model = tmp_path / "net.onnx"
    onnx.save(foreign.images(12, 20, CLASSES, channels_last=True), model)
    images = np.random.default_rng(3).integers(0, 256, (45, 12, 20, 3), np.uint8)
    data = set_of_images(tmp_path / "set.h5", images)
    results = [evaluate(model, data, "--save", "probabilities", "--batch-size", 8, ranks=ranks) for ranks in (None, 3)]
    expected = foreign.infer(model, {"image": images.astype(np.float32) / np.float32(255)}, 8)[0]
    check_scores(results[0], expected, probabilities=True)
    check_same_digests(results)


def test_texts_of_any_length(evaluate: Evaluate, tmp_path: Path) -> None:
    model, tokens = tmp_path / "net.onnx", np.random.default_rng(4).integers(0, 40, (37, 9))
    onnx.save(foreign.token_sums(), model)
    data = set_of_numbers(tmp_path / "set.h5", tokens, "input_ids")
    result = evaluate(model, data, "--save", "logits", ranks=2)
    check_scores(result, foreign.infer(model, {"input_ids": tokens}, 37)[0])


@pytest.mark.parametrize("path", foreign.known_networks(), ids=lambda path: path.stem)
def test_networks_that_onnx_ships(path: Path, evaluate: Evaluate, tmp_path: Path) -> None:
    """Of batches of one image. Most are from 2017, and end in a softmax."""
    model, total = tmp_path / "net.onnx", 4
    images = np.random.default_rng(5).integers(0, 256, (total, 224, 224, 3), np.uint8)
    data = set_of_images(tmp_path / "set.h5", images, 1000)
    given = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).astype(np.float32) / np.float32(255)
    for gain in (2, 1, 0.5):  # of sums over residuals the first one leaves nothing but 0 and 1
        onnx.save(foreign.with_random_weights(path, gain), model)
        expected = foreign.infer(model, given, 1)[0].reshape(total, 1000)
        if expected.max() != 1 and np.abs(expected - expected[0]).max() > 1e-6:
            break
    assert expected.std() > 1e-6 and np.abs(expected - expected[0]).max() > 1e-6
    probabilities = bool(np.allclose(expected.sum(1), 1))
    column = "probabilities" if probabilities else "logits"
    result = evaluate(model, data, "--batch-size", 1, "--save", column)
    np.testing.assert_allclose(saved(result, column), expected, rtol=2e-3, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("opset", "operator", "identity"), [
    (9, "Softmax", False), (11, "Softmax", False), (17, "Softmax", True), (11, "LogSoftmax", False), (17, "Sigmoid", False),
])  # fmt: skip
def test_what_scores_are(opset: int, operator: str, identity: bool, evaluate: Evaluate, tmp_path: Path) -> None:
    """By the last operator that makes them, as files of that age have it."""
    model, values = tmp_path / "net.onnx", foreign.numbers()
    onnx.save(foreign.ending(opset, operator, identity) if operator != "Sigmoid" else foreign.sigmoid(), model)
    data = set_of_numbers(tmp_path / "set.h5", values)
    scores = foreign.infer(model, {"x": values}, 61)[0]
    result = evaluate(model, data, "--save", "probabilities")
    expected = np.exp(scores) if operator == "LogSoftmax" else scores
    check_scores(result, expected, probabilities=True)


def test_half_precision(evaluate: Evaluate, tmp_path: Path) -> None:
    model, values = tmp_path / "net.onnx", foreign.numbers()
    onnx.save(foreign.half(), model)
    data = set_of_numbers(tmp_path / "set.h5", values)
    result = evaluate(model, data, "--save", "logits")
    expected = foreign.infer(model, {"x": values.astype(np.float16)}, 61)[0].astype(np.float32)
    np.testing.assert_allclose(saved(result), expected, rtol=2e-3, atol=2e-3)


def test_images_as_bytes(evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    """A graph that normalises itself is given the pixels, whatever normalisation the data set names."""
    model = tmp_path / "net.onnx"
    onnx.save(foreign.bytes_of_images(12, 20, CLASSES), model)
    images = np.random.default_rng(3).integers(0, 256, (45, 12, 20, 3), np.uint8)
    data = set_of_images(tmp_path / "set.h5", images)
    check_scores(evaluate(model, data, "--save", "probabilities"), foreign.infer(model, {"image": images}, 45)[0], True)
    card = {
        "tally_card": 1, "inputs": [{"name": "image", "dtype": "uint8", "shape": ["batch", 3, 12, 20]}],
        "outputs": [{"name": "y", "kind": "probabilities", "dtype": "float32", "shape": ["batch", CLASSES]}],
        "normalisation": {"scale": 1 / 255, "mean": [0, 0, 0], "std": [1, 1, 1], "channels": "RGB"},
    }  # fmt: skip
    (tmp_path / "net.onnx.json").write_text(json.dumps(card))
    run = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "run")
    run.must_fail(4, "takes the images 'image' as bytes")


@pytest.mark.parametrize("network", ["mnist_convnet", "cifar_resnet20", "squeezenet1_1"])
def test_exported_networks(network: str, prepared: Prepared, evaluate: Evaluate) -> None:
    model, data = prepared.onnx(network), prepared.data_of(network)
    results = [evaluate(model, data, ranks=ranks, limit_s=240) for ranks in (None, 3)]
    check_known(results[0], network)
    check_same_digests(results)
    script = evaluate(prepared.trained_model(network), data, ranks=2, limit_s=240)
    assert results[0].value("accuracy") == script.value("accuracy")
    assert results[0].value("loss") == pytest.approx(script.value("loss"), rel=1e-5)


def test_resumed(tally: Program, tmp_path: Path) -> None:
    """Stopped on three ranks, and gone on with on one."""
    model, data = tmp_path / "net.onnx", set_of_numbers(tmp_path / "set.h5", foreign.numbers())
    onnx.save(foreign.recurrent(), model)
    case = TaskCase(model, data, ("--batch-size", 4))
    whole, run = (Resumable(tally, case, tmp_path / name) for name in ("whole", "run"))
    whole().must_succeed()
    run.stop(*ON_SIGNAL, ranks=3)
    assert samples_behind(run.resume(ranks=1)) > 0
    check_same(run.output, whole.output)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads(threads: int, evaluate: Evaluate, tmp_path: Path) -> None:
    """They share a batch, of any number of samples."""
    model, values = tmp_path / "net.onnx", foreign.numbers()
    onnx.save(foreign.recurrent(), model)
    data = set_of_numbers(tmp_path / "set.h5", values)
    results = [evaluate(model, data, "--save", "logits", "--threads", threads, "--batch-size", 23, ranks=ranks)
               for ranks in (None, 2)]  # fmt: skip
    check_scores(results[0], foreign.infer(model, {"x": values}, 61)[0])
    check_same_digests(results)


def of_openvino(source: Path, target: Path) -> None:
    convert = "import openvino, sys; openvino.save_model(openvino.Core().read_model(sys.argv[1]), sys.argv[2], False)"
    subprocess.run([sys.executable, "-c", convert, source, target], check=True)


def test_files_of_openvino(evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    source, model, values = tmp_path / "net.onnx", tmp_path / "net.xml", foreign.numbers()
    onnx.save(foreign.dense(), source)
    of_openvino(source, model)
    data = set_of_numbers(tmp_path / "set.h5", values)
    results = [evaluate(one, data, "--save", "logits", ranks=ranks) for one, ranks in ((source, None), (model, 3))]
    assert results[0].digests == results[1].digests
    assert "input x: float32 [batch, 6]" in tally("inspect", model).must_succeed().stdout
    model.with_suffix(".bin").unlink()
    tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "run").must_fail(4, "net.bin")
