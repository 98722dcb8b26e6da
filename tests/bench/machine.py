# SPDX-License-Identifier: Apache-2.0
"""What a benchmark ran on, for its table."""

import datetime
import hashlib
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import amx
import torch
import torchmetrics
from commands import find_allocator

RIVALS = ("onnxruntime", "openvino", "timm", "torchvision", "transformers")
HERE = Path(__file__).resolve().parent
# What decides the work of those who are compared.
SOURCES = [*(HERE / f"{name}.py" for name in ("cases", "commands", "contenders", "network_tables", "networks", "onnx_engines", "onnx_export", "rival_worker", "scaling", "one_machine_cluster")),
           *sorted((HERE.parent / "support" / "slurm_one").iterdir()),
           HERE.parent / "support" / "slurm-one-machine.sh", HERE.parent / "support" / "models.py"]  # fmt: skip


def facts(tally: Path) -> dict[str, str]:
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {torch.backends.cpu.get_cpu_capability()}",
        "amx": amx.fact(),
        "system": f"{platform.freedesktop_os_release()['PRETTY_NAME']}, glibc {platform.libc_ver()[1]}",
        "tally": _first_line(tally, "--version"),
        "torch": torch.__version__,
        "torchmetrics": torchmetrics.__version__,
        "mpi": _first_line("mpirun", "--version"),
        "rivals": ", ".join(f"{name} {_version(name)}" for name in RIVALS) + f", {_tcmalloc()}",
        "digest": _digest(tally),
    }


def precisions() -> list[str]:
    """bf16 only where the processor multiplies in it: elsewhere it is slower for everybody."""
    return ["fp32", "bf16"] if torch.ops.mkldnn._is_mkldnn_bf16_supported() else ["fp32"]


def _digest(tally: Path) -> str:
    """Of the program and the bench: revisions do not tell trees apart that have changes."""
    program = [path for path in (tally, *(tally.parent / name for name in ("libtally_torch.so", "tests/bench/empty_job"))) if path.exists()]
    return hashlib.sha256(b"".join(path.read_bytes() for path in [*program, *SOURCES])).hexdigest()[:12]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _tcmalloc() -> str:
    found = find_allocator()
    return found.resolve().name if found else "no allocator to preload"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))


def _first_line(*command: object) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.splitlines()[0]
