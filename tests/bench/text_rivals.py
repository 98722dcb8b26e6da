# SPDX-License-Identifier: Apache-2.0
"""A loop over a data set of texts as competent users write it: sorted by length, each batch as long as its longest text.

    text_rivals.py ENGINE MODEL ONNX DATA BATCH SAMPLES THREADS

ENGINE is eager (transformers with scaled_dot_product_attention), kept (the same, scores of the last places only: a
language model), compile (eager by torch.compile, with dynamic shapes), onnxruntime or
openvino (of ONNX). MODEL is a folder of transformers. Prints a line of JSON: texts per
second after one warm batch of each length, and the mean loss of a language model or the sum of the best places of others.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import h5py
import numpy as np
import onnx_engines
import torch
from torch.nn.functional import cross_entropy

Batch = dict[str, np.ndarray]
Scores = list[torch.Tensor]
Infer = Callable[[Batch, int], Scores]  # inputs of a batch, and how many of its last places count


def torch_infer(engine: str, folder: Path, threads: int) -> Infer:
    import transformers

    torch.set_num_threads(threads)
    kind = json.loads((folder / "config.json").read_text())["architectures"][0]
    model = getattr(transformers, kind).from_pretrained(folder, attn_implementation="sdpa").eval()
    is_causal = kind.endswith("LMHeadModel")
    if engine == "compile":
        model = torch.compile(model, dynamic=True)

    def infer(batch: Batch, counted: int) -> Scores:
        tensors = {name: torch.from_numpy(values) for name, values in batch.items()}
        if engine == "kept":
            tensors["logits_to_keep"] = counted
        with torch.inference_mode():
            found = model(**tensors)
        return [found.logits] if is_causal else [found.start_logits, found.end_logits]

    return infer


def onnxruntime_infer(onnx: Path, threads: int) -> Infer:
    run = onnx_engines.onnxruntime_run(onnx, threads)
    return lambda batch, _: [torch.from_numpy(scores) for scores in run(batch)]


def openvino_infer(onnx: Path, threads: int) -> Infer:
    import openvino

    request = openvino.Core().compile_model(onnx, "CPU", onnx_engines.openvino_settings(threads)).create_infer_request()

    def infer(batch: Batch, _: int) -> Scores:
        request.infer(batch)
        return [torch.from_numpy(tensor.data) for tensor in request.output_tensors]

    return infer


def batches(data: Path, batch_size: int, samples: int) -> Iterator[tuple[Batch, np.ndarray | None, int]]:
    """Inputs, labels where each place has one, and how many of the last places count."""
    with h5py.File(data) as file:
        inputs = {name: column[:samples].astype(np.int64) for name, column in file["/inputs"].items()}
        lengths = file["/lengths"][:samples]
        labels = file["/targets/label"][:samples].astype(np.int64) if "label" in file["/targets"] else None
    order = np.argsort(-lengths, kind="stable")
    for first in range(0, len(order), batch_size):
        rows = order[first : first + batch_size]
        longest = int(lengths[rows].max())
        target = None if labels is None else labels[rows, :longest]
        counted = longest if target is None else longest - int((target != -100).any(0).argmax())
        yield {name: column[rows, :longest].copy() for name, column in inputs.items()}, target, counted


def one_pass(infer: Infer, prepared: list[tuple[Batch, np.ndarray | None, int]]) -> Mapping[str, float]:
    begin, total, count, samples = time.perf_counter(), 0.0, 0, 0
    for inputs, labels, counted in prepared:
        scores = infer(inputs, counted)
        samples += len(next(iter(inputs.values())))
        if labels is None:
            total += sum(float(of_places.argmax(1).sum()) for of_places in scores)
            continue
        target = torch.from_numpy(labels)[:, -scores[0].shape[1] :]
        is_counted = target != -100
        total += float(cross_entropy(scores[0][is_counted], target[is_counted], reduction="sum"))
        count += int(is_counted.sum())
    return {"per_s": samples / (time.perf_counter() - begin), "figure": total / max(count, 1)}


def main() -> None:
    engine, folder, onnx, data = sys.argv[1], *map(Path, sys.argv[2:5])
    batch_size, samples, threads = map(int, sys.argv[5:])
    makers = {"onnxruntime": onnxruntime_infer, "openvino": openvino_infer}
    infer = makers[engine](onnx, threads) if engine in makers else torch_infer(engine, folder, threads)
    prepared = list(batches(data, batch_size, samples))
    by_shape = {inputs["input_ids"].shape: (inputs, labels, counted) for inputs, labels, counted in prepared}
    one_pass(infer, list(by_shape.values()))
    print(json.dumps(one_pass(infer, prepared)))


main()
