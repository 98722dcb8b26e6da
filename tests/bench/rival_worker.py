# SPDX-License-Identifier: Apache-2.0
"""One process of a rival: loads a network, and evaluates a part of a data set each time it is asked.

    python rival_worker.py --form llga --network resnet50 --data set.h5 --first 0 --end 256 --threads 2

Prints a line when it is ready; then answers each line on standard input with the seconds of one pass, how many samples
were right and the class of each. Forms: eager (channels-last), compile (torch.compile with freezing), llga (TorchScript with oneDNN Graph),
onnxruntime and openvino (of --onnx, which takes what the data set stores and normalises it itself). What is counted, the
best class alone, is less than Tally counts.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import networks
import numpy as np
import onnx_engines

Infer = Callable[[np.ndarray], np.ndarray]  # a batch as it is stored to the best classes


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--form", choices=["eager", "compile", "llga", "onnxruntime", "openvino"], required=True)
    parser.add_argument("--network", required=True, help="a name in networks.py")
    parser.add_argument("--weights", type=Path, help="state_dict; else those of the network's seed")
    parser.add_argument("--onnx", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--end", type=int, required=True)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32", help="bf16: weights cast to it")
    return parser.parse_args()


def torch_infer(given: argparse.Namespace, stored: h5py.Dataset) -> Infer:
    import torch

    torch.set_num_threads(given.threads)
    dtype = torch.bfloat16 if given.precision == "bf16" else torch.float32
    is_image = stored.ndim == 4
    module = networks.make(given.network).eval()
    if given.weights:
        module.load_state_dict(torch.load(given.weights))
    module = module.to(dtype)
    if is_image:
        module = module.to(memory_format=torch.channels_last)
        normalise = networks.normaliser(given.network, stored.attrs, torch.channels_last, dtype)
    else:
        normalise = lambda tokens: tokens  # noqa: E731
    with torch.inference_mode():
        example = normalise(torch.from_numpy(stored[: given.batch_size]))
        if given.form == "compile":
            from torch._inductor import config

            config.freezing = True
            module = torch.compile(module, dynamic=False)
        elif given.form == "llga":
            torch.jit.enable_onednn_fusion(True)
            module = torch.jit.freeze(torch.jit.trace(module, example, check_trace=False))

    def infer(batch: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return module(normalise(torch.from_numpy(batch))).argmax(1).numpy()

    return infer


def onnxruntime_infer(given: argparse.Namespace, stored: h5py.Dataset) -> Infer:
    run, name = onnx_engines.onnxruntime_run(given.onnx, given.threads), Path(stored.name).name
    return lambda batch: run({name: batch})[0].argmax(1)


def openvino_infer(given: argparse.Namespace, stored: h5py.Dataset) -> Infer:
    """For batches of one size."""
    import openvino

    core = openvino.Core()
    model = core.read_model(given.onnx)
    model.reshape([given.batch_size, *stored.shape[1:]])
    precision = "bf16" if given.precision == "bf16" else "f32"
    compiled = core.compile_model(model, "CPU", onnx_engines.openvino_settings(given.threads, precision))
    output = compiled.output(0)
    request = compiled.create_infer_request()
    return lambda batch: request.infer({0: batch})[output].argmax(1)


MAKERS = {"onnxruntime": onnxruntime_infer, "openvino": openvino_infer}


def one_pass(given: argparse.Namespace, file: h5py.File, stored: h5py.Dataset, infer: Infer) -> dict[str, object]:
    labels = file["/targets/label"]
    begin, correct, classes = time.perf_counter(), 0, []
    for first in range(given.first, given.end, given.batch_size):
        rows = slice(first, min(first + given.batch_size, given.end))
        classes.append(infer(stored[rows]))
        correct += int((classes[-1] == labels[rows]).sum())
    loop_s = time.perf_counter() - begin
    return {"loop_s": loop_s, "correct": correct, "classes": np.concatenate(classes).tolist()}


def main() -> None:
    given = options()
    with h5py.File(given.data) as file:
        (name,) = file["/inputs"]
        stored = file["/inputs"][name]
        infer = MAKERS.get(given.form, torch_infer)(given, stored)
        for _ in range(3):
            infer(stored[: given.batch_size])
        print("ready", flush=True)
        for _ in sys.stdin:
            print(json.dumps(one_pass(given, file, stored, infer)), flush=True)


main()
