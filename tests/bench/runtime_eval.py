# SPDX-License-Identifier: Apache-2.0
"""A whole evaluation as users of ONNX Runtime and OpenVINO write it for speed: no torch, batches read in one piece.

    python runtime_eval.py --engine openvino --onnx net.onnx --data set.h5 --batch-size 32 --threads 2 --output FOLDER

The network takes what the data set stores. Counts accuracy, top-5, log loss and a confusion matrix, writes predictions.npz and
report.json into FOLDER and prints a line of JSON.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import onnx_engines

TOP = 5
Infer = Callable[[np.ndarray], np.ndarray]  # a batch as it is stored to its logits


def onnxruntime_infer(given: argparse.Namespace, _: h5py.Dataset) -> Infer:
    run = onnx_engines.onnxruntime_run(given.onnx, given.threads)
    return lambda batch: run({given.input: batch})[0]


def openvino_infer(given: argparse.Namespace, stored: h5py.Dataset) -> Infer:
    """For batches of one size, which it runs fastest; the last one is filled up."""
    import openvino

    model = openvino.Core().read_model(given.onnx)
    model.reshape([given.batch_size, *stored.shape[1:]])
    compiled = openvino.Core().compile_model(model, "CPU", onnx_engines.openvino_settings(given.threads))
    output, request = compiled.output(0), compiled.create_infer_request()

    def infer(batch: np.ndarray) -> np.ndarray:
        missing = given.batch_size - len(batch)
        whole = np.pad(batch, [(0, missing)] + [(0, 0)] * (batch.ndim - 1)) if missing else batch
        return request.infer({0: whole})[output][: len(batch)]

    return infer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["onnxruntime", "openvino"], required=True)
    parser.add_argument("--onnx", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    with h5py.File(given.data) as file:
        ((given.input, stored),), labels = file["/inputs"].items(), file["/targets/label"][:]
        infer = {"onnxruntime": onnxruntime_infer, "openvino": openvino_infer}[given.engine](given, stored)
        begin = time.perf_counter()
        found, best, in_top, losses = [], [], 0, []
        for first in range(0, len(labels), given.batch_size):
            logits = infer(stored[first : first + given.batch_size])
            wanted = labels[first : first + given.batch_size, None]
            found.append(logits.argmax(1))
            in_top += int((np.argpartition(-logits, TOP, 1)[:, :TOP] == wanted).sum())
            logits = logits.astype(np.float64)
            logits -= logits.max(1, keepdims=True)
            logits -= np.log(np.exp(logits).sum(1, keepdims=True))
            best.append(np.exp(logits.max(1)))
            losses.append(-np.take_along_axis(logits, wanted, 1)[:, 0])
    loop_s = time.perf_counter() - begin
    classes, num_classes = np.concatenate(found), logits.shape[1]
    matrix = np.bincount(labels * num_classes + classes, minlength=num_classes**2).reshape(num_classes, num_classes)
    metrics = {"accuracy": float((classes == labels).mean()), "top5_accuracy": in_top / len(labels),
               "log_loss": float(np.concatenate(losses).mean())}  # fmt: skip
    given.output.mkdir(parents=True, exist_ok=True)
    np.savez(given.output / "predictions.npz", prediction=classes, probability=np.concatenate(best), label=labels, confusion=matrix)
    report = json.dumps({"samples": len(labels), "loop_s": loop_s, "metrics": metrics})
    (given.output / "report.json").write_text(report)
    print(report)


main()
