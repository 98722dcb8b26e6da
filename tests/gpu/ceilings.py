# SPDX-License-Identifier: Apache-2.0
"""What this GPU and its host can do at most: copies, matrix products, page-locked memory."""

import mmap
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from recording import Figures


def median_s(run: Callable[[], object], times: int = 10) -> float:
    """By the device's events, after two warm-ups."""
    found = []
    for measurement in range(times + 2):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        if measurement >= 2:
            found.append(begin.elapsed_time(end) / 1e3)
    return sorted(found)[times // 2]


def registered_s(size: int) -> float:
    """Seconds to take memory in huge pages, to touch it and to lock it."""
    began = time.perf_counter()
    memory = mmap.mmap(-1, size)
    memory.madvise(mmap.MADV_HUGEPAGE)
    tensor = torch.frombuffer(memory, dtype=torch.uint8)
    tensor.zero_()  # by several threads
    code = torch.cuda.cudart().cudaHostRegister(tensor.data_ptr(), size, 0)
    seconds = time.perf_counter() - began
    if int(code) != 0:
        raise RuntimeError(f"cudaHostRegister returned {int(code)}")
    torch.cuda.cudart().cudaHostUnregister(tensor.data_ptr())
    return seconds


def main() -> None:
    figures = Figures(Path(sys.argv[1]))
    began = time.perf_counter()
    torch.zeros(1, device="cuda")
    figures.add("LibTorch's first tensor on the GPU", time.perf_counter() - began, "s")
    properties = torch.cuda.get_device_properties(0)
    figures.add("GPU", properties.name, multiprocessors=properties.multi_processor_count,
                memory_gb=properties.total_memory >> 30, capability=f"{properties.major}.{properties.minor}",
                torch=torch.__version__, cuda=str(torch.version.cuda), cudnn=torch.backends.cudnn.version(),
                nccl=".".join(map(str, torch.cuda.nccl.version())))  # fmt: skip
    size = 2 << 30
    source, target = (torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    figures.add("copy on the device, read and written", 2 * size / median_s(lambda: target.copy_(source)) / 1e9, "GB/s")
    began = time.perf_counter()
    pinned = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True)
    figures.add("page-locked memory, by cudaHostAlloc", 1 / (time.perf_counter() - began), "GiB/s")
    figures.attempt("page-locked memory, huge pages that are registered", lambda: 1 / registered_s(1 << 30), "GiB/s")
    part = target[: 1 << 30]
    figures.add("copy to the device, from page-locked memory",
                (1 << 30) / median_s(lambda: part.copy_(pinned, non_blocking=True)) / 1e9, "GB/s")  # fmt: skip
    for name, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16), ("fp32", torch.float32)):
        left, right = (torch.randn(8192, 8192, device="cuda", dtype=dtype) for _ in range(2))
        figures.add(f"matrix product of 8192 x 8192, {name}", 2 * 8192**3 / median_s(lambda: left @ right) / 1e12, "TFLOP/s")


if __name__ == "__main__":
    main()
