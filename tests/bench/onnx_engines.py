# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime and OpenVINO as their users set them up for a number of threads. It does not import torch."""

from collections.abc import Callable
from pathlib import Path

import numpy as np


def onnxruntime_run(onnx: Path, threads: int) -> Callable[[dict[str, np.ndarray]], list[np.ndarray]]:
    """From inputs by name to all outputs."""
    import onnxruntime

    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads, how.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(onnx, how, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def openvino_settings(threads: int, precision: str = "f32") -> dict[str, object]:
    """Unpinned, because two processes would be pinned to the same core."""
    return {"INFERENCE_NUM_THREADS": threads, "ENABLE_CPU_PINNING": False, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": precision}  # fmt: skip
