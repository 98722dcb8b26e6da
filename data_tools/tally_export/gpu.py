# SPDX-License-Identifier: Apache-2.0
"""What compiling a package for a GPU needs beside the compiler: float32 that is float32, CUDA's folder, and batches whose
values 32 bits can number."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

MOST_VALUES = 2**31 - 1  # beyond it Inductor's kernels count in 64 bits, which takes longer
MOST_SAMPLES = 4096  # no GPU is faster with more
LEAST_SAMPLES = 32  # a package is compared with its module in batches of up to 19


@contextmanager
def gpu_compiler() -> Iterator[None]:
    """PyTorch's defaults round factors of convolutions to TF32: then folding a normalisation into weights changes results,
    and `tally` computes as the package is compiled, without TF32. The linker finds libcuda by CUDA_HOME alone."""
    backends = (torch.backends.cudnn, torch.backends.cuda.matmul)
    before = [backend.allow_tf32 for backend in backends]
    try:
        for backend in backends:
            backend.allow_tf32 = False
        with mock.patch.dict(os.environ, _cuda_home()):
            yield
    finally:
        for backend, allowed in zip(backends, before, strict=True):
            backend.allow_tf32 = allowed


def _cuda_home() -> dict[str, str]:
    nvcc = shutil.which("nvcc")
    if "CUDA_HOME" in os.environ or nvcc is None:
        return {}
    return {"CUDA_HOME": str(Path(nvcc).resolve().parents[1])}


class _Sizes(TorchDispatchMode):
    """How many values each tensor has that an operator returns, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[int] = []

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        returned = function(*arguments, **(named or {}))
        self.found += [leaf.numel() for leaf in _pytree.tree_leaves(returned) if isinstance(leaf, torch.Tensor)]
        return returned


def _sizes(module: nn.Module, batch: tuple[torch.Tensor, ...]) -> list[int]:
    with torch.no_grad(), _Sizes() as sizes:
        module(*batch)
    return sizes.found


def largest_batch(module: nn.Module, example: tuple[torch.Tensor, ...]) -> int | None:
    """For which no tensor has more than MOST_VALUES, MOST_SAMPLES at most; None where that would be less than
    LEAST_SAMPLES. Only what grows with the batch counts: weights do not."""
    twice = tuple(torch.cat([tensor, tensor]) for tensor in example)
    one, two = _sizes(module, example), _sizes(module, twice)
    if len(one) == len(two):
        grown = max(b - a for a, b in zip(one, two, strict=True))
    else:  # it does something else with more samples
        grown = max(one)
    per_sample = max(1, -(-grown // len(example[0])))
    most = min(MOST_SAMPLES, MOST_VALUES // per_sample)
    return most if most >= LEAST_SAMPLES else None
