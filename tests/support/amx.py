# SPDX-License-Identifier: Apache-2.0
"""AMX where a processor announces it but cannot run it: PyTorch dies of it in bf16, and these programs do without, as tally does."""

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

# What tally sets, see src/model/amx/amx_probe.cpp.
CAPS = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", "MKL_ENABLE_INSTRUCTIONS": "AVX512_E3"}
# Large enough for oneDNN to take it.
PRODUCT = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x; torch.nn.functional.linear(x, x)"


def announces(cpuinfo: str) -> bool:
    return "amx_bf16" in cpuinfo.split()


def dies(program: str = PRODUCT, timeout_s: float = 60) -> bool:
    """Whether a Python of its own ends with an illegal instruction, or does not end."""
    env = {name: value for name, value in os.environ.items() if name not in CAPS}
    try:
        ended = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return True
    return ended.returncode == -signal.SIGILL


@functools.cache
def caps() -> dict[str, str]:
    """The environment that PyTorch needs here; empty on most machines, where it costs nothing to ask."""
    return CAPS if announces(Path("/proc/cpuinfo").read_text()) and dies() else {}


def leave_out_broken_amx() -> None:
    """For this process, before PyTorch computes anything, and for those that it starts."""
    for name, value in caps().items():
        os.environ.setdefault(name, value)


def fact() -> str:
    """For the table of a benchmark."""
    if not announces(Path("/proc/cpuinfo").read_text()):
        return "not announced"
    return "announced, but it cannot run: left out for everybody" if caps() else "used"
