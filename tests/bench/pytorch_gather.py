# SPDX-License-Identifier: Apache-2.0
"""Seconds to have the columns of predictions.h5 of all processes, as PyTorch users do it.

    torchrun --nproc-per-node 2 pytorch_gather.py ROWS ROUNDS

ROWS in all. Process 0 prints a line of seconds for each round.
"""

import sys
import time

import torch
import torch.distributed as dist

TYPES = {"index": torch.int64, "label": torch.int64, "prediction": torch.int64, "label_rank": torch.int32,
         "loss": torch.float32, "confidence": torch.float32}  # fmt: skip


def main() -> None:
    dist.init_process_group("gloo")
    rows = int(sys.argv[1]) // dist.get_world_size()
    mine = {name: torch.ones(rows, dtype=dtype) for name, dtype in TYPES.items()}
    for _ in range(int(sys.argv[2])):
        dist.barrier()
        begin = time.perf_counter()
        found: list[dict] = [{}] * dist.get_world_size()
        dist.all_gather_object(found, mine)
        columns = {name: torch.cat([one[name] for one in found]) for name in TYPES}
        seconds = time.perf_counter() - begin
        assert all(len(column) == rows * dist.get_world_size() for column in columns.values())
        if dist.get_rank() == 0:
            print(seconds, flush=True)
    dist.destroy_process_group()


main()
