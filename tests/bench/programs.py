# SPDX-License-Identifier: Apache-2.0
"""Measurements that are programs of their own, built by the target tally_bench."""

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import metric_pass as metric_pass_program
import torch
from commands import Case, environment


def _rows(*command: object) -> Iterator[list[float]]:
    ended = subprocess.run(list(map(str, command)), env=environment(), check=True, capture_output=True, text=True)
    for line in ended.stdout.splitlines():
        yield [float(word) for word in line.split()]


def forward_share(build: Path, case: Case, rounds: int) -> list[float]:
    """Shares of the loop's time: bare forward passes, preparation, metrics and records, waiting for data."""
    program = build / "tests" / "bench" / "step_share"
    rows = _rows(program, case.model, case.data, case.batch_size, 1, rounds)
    shares = [[part / loop_s for part in parts] for loop_s, *parts in rows]
    return [statistics.median(column) for column in zip(*shares, strict=True)]


def read_speed(build: Path, data: Path, batch: int, rounds: int) -> list[object]:
    """GB/s of Tally and of pread; ours as a share of pread's, and of that of pread with checksums."""
    with h5py.File(data) as file:
        offset = file["/inputs/image"].id.get_offset()
    found = list(_rows(build / "tests" / "bench" / "read_speed", data, "image", offset, batch, 3, rounds))
    checked = [ours / other for ours, _, other in found if other]
    return [
        statistics.median(ours for ours, *_ in found) / 1e9,
        statistics.median(plain for _, plain, _ in found) / 1e9,
        statistics.median(ours / plain for ours, plain, _ in found),
        statistics.median(checked) if checked else "",
    ]


def read_together(build: Path, data: Path, batch: int, way: str, processes: int, cached: bool) -> dict[str, float]:
    """GB/s of all processes, each reading its part of the file: by Tally, or by pread and CRC-32C."""
    with h5py.File(data) as file:
        column = file["/inputs/image"]
        offset, rows, row_bytes = column.id.get_offset(), column.shape[0], column[0].nbytes
    with data.open("rb") as file:
        if cached:
            while file.read(2**24):
                pass
        else:  # pages that were not written yet would stay
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    bounds = [rank * rows // processes for rank in range(processes + 1)]
    words = [build / "tests" / "bench" / "read_speed", data, "image", offset, batch, 3, way]
    running = [subprocess.Popen(list(map(str, [*words, first, last])), env=environment(), stdout=subprocess.PIPE, text=True)
               for first, last in itertools.pairwise(bounds)]  # fmt: skip
    seconds = [float(process.communicate()[0]) for process in running]
    return {"gb_per_s": rows * row_bytes / max(seconds) / 1e9}


def packed_speed(build: Path, data: Path, batch: int, rounds: int) -> list[object]:
    """GB/s of H5Dread, of the codec alone on one thread, and of Tally on 1 and 2 threads; Tally on 1 thread as a
    multiple of the first two, on 2 threads of H5Dread."""
    found = list(_rows(build / "tests" / "bench" / "packed_speed", data, "image", batch, rounds))
    speeds = [statistics.median(column) / 1e9 for column in zip(*found, strict=True)]
    return [*speeds, *(statistics.median(row[i] / row[j] for row in found) for i, j in ((2, 0), (2, 1), (3, 0)))]


def forward_memory(build: Path, case: Case) -> tuple[float, float]:
    """Private bytes of a process that has its libraries, and of one after bare forward passes."""
    program = build / "tests" / "bench" / "forward_memory"
    ((initialised, peak),) = _rows(program, case.model, case.data, case.batch_size)
    return initialised, peak


def metric_pass(build: Path, folder: Path, rounds: int) -> list[dict]:
    program = build / "tests" / "bench" / "metric_pass"
    return [one for classes in metric_pass_program.SIZES
            for one in metric_pass_program.measure(program, classes, rounds, folder)]  # fmt: skip


# The second of two: the first one makes connections and takes memory from the system.
def gather_speed(build: Path, rows: int) -> dict[str, float]:
    return {"s": list(_rows("mpirun", "-n", 2, build / "tests" / "bench" / "gather_speed", rows, 2))[1][0]}


def pytorch_gather(rows: int) -> dict[str, float]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", 2]
    return {"s": list(_rows(*launcher, Path(__file__).with_name("pytorch_gather.py"), rows, 2))[1][0]}


def matrix_product(size: int = 2048) -> dict[str, float]:
    """The best of several on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    a, b = torch.randn(size, size), torch.randn(size, size)
    seconds = []
    for _ in range(10):
        begin = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - begin)
    torch.set_num_threads(threads)
    return {"flops_per_s": 2 * size**3 / min(seconds)}
