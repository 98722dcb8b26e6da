# SPDX-License-Identifier: Apache-2.0
"""Writes the checkpoints of a training on several ranks: torch.distributed.checkpoint and DeepSpeed's ZeRO.

usage: ranked_checkpoints.py FOLDER WRITER-RANKS…

Each form is a folder in FOLDER/WRITER-RANKS, beside it `<form>.expected.pth` with the state_dict that it stands for.
"""

import importlib
import os
import sys
import tempfile
from pathlib import Path

import torch
import torch.multiprocessing
from torch import distributed

WRITERS = {"dcp": "dcp_checkpoints", "deepspeed": "deepspeed_checkpoints"}


def _run(rank: int, num_ranks: int, writer: str, folder: Path, meeting: str) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(num_ranks)}
    os.environ |= {"LOCAL_SIZE": str(num_ranks), "OMP_NUM_THREADS": "1"}
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=num_ranks)
    importlib.import_module(WRITERS[writer]).write_all(folder)
    distributed.barrier()
    distributed.destroy_process_group()


def main() -> None:
    folder = Path(sys.argv[1])
    jobs = [(name, *name.split("-")) for name in sys.argv[2:]]
    os.environ["DS_ACCELERATOR"] = "cpu"
    for _, writer, _ in jobs:
        importlib.import_module(WRITERS[writer])  # once, as it takes seconds: the ranks are forks of this process
    for name, writer, ranks in jobs:
        (folder / name).mkdir(parents=True)
        with tempfile.TemporaryDirectory() as place:
            words = (int(ranks), writer, folder / name, f"file://{place}/meeting")
            torch.multiprocessing.start_processes(_run, words, nprocs=int(ranks), start_method="fork")


if __name__ == "__main__":
    main()
