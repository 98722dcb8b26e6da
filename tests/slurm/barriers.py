#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Started as a rank: goes through barriers of PMIx as MPI_Init does, and exits 1 if one let it go too early.

Each rank counts the barriers that it has come to in a file that all ranks map; behind a barrier nobody's
count may be lower. The declarations are those of pmix.h and pmix_common.h (PMIx 4).
"""

import ctypes
import mmap
import os
import struct
import sys
from pathlib import Path

NUM_BARRIERS = 500
MAX_RANKS = 64


class Proc(ctypes.Structure):
    """pmix_proc_t"""

    _fields_ = [("nspace", ctypes.c_char * 256), ("rank", ctypes.c_uint32)]


def main() -> int:
    pmix = ctypes.CDLL("libpmix.so.2")
    me = Proc()
    if (code := pmix.PMIx_Init(ctypes.byref(me), None, ctypes.c_size_t(0))) != 0:
        sys.exit(f"PMIx_Init: {code}")
    num_ranks = int(os.environ["SLURM_NTASKS"])
    size = struct.calcsize("q") * MAX_RANKS
    descriptor = os.open(Path(f"counts-{me.nspace.decode()}"), os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(descriptor, size)
    counts = memoryview(mmap.mmap(descriptor, size)).cast("q")
    num_early = 0
    for barrier in range(1, NUM_BARRIERS + 1):
        counts[me.rank] = barrier
        if (code := pmix.PMIx_Fence(None, ctypes.c_size_t(0), None, ctypes.c_size_t(0))) != 0:
            sys.exit(f"PMIx_Fence: {code}")
        num_early += min(counts[:num_ranks]) < barrier
    print(f"rank {me.rank}: {num_early} of {NUM_BARRIERS} barriers let it go too early", flush=True)
    pmix.PMIx_Finalize(None, ctypes.c_size_t(0))
    return 0 if num_early == 0 else 1


sys.exit(main())
