# SPDX-License-Identifier: Apache-2.0
"""Writes the checkpoints of several files that the tests of the weights room read, by the packages that users have.

usage: make_checkpoints.py FOLDER      does nothing if FOLDER was written by these very scripts and packages

Each form is a file or folder in FOLDER; `<form>.expected.safetensors` holds what its own loader makes of it.
"""

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).parents[1] / "support"
sys.path.insert(0, str(SUPPORT))

PACKAGES = ("deepspeed", "huggingface_hub", "safetensors", "torch")
SOURCES = ("checkpoints", "dcp_checkpoints", "deepspeed_checkpoints", "ranked_checkpoints", "varied_net")
RANKED = ("dcp-1", "dcp-2", "deepspeed-2")


def current_stamp() -> str:
    own = [Path(__file__).with_name(name) for name in ("make_checkpoints.py", "odd_metadata.py", "odd_states.py")]
    paths = own + [SUPPORT / f"{name}.py" for name in SOURCES]
    versions = [importlib.metadata.version(name) for name in PACKAGES]
    return " ".join([hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest(), *versions])


def write_expected(path: Path, state: dict[str, object]) -> None:
    import safetensors.torch

    tensors = {name: tensor.contiguous().clone() for name, tensor in state.items()}
    safetensors.torch.save_file(tensors, path.with_name(f"{path.name}.expected.safetensors"))


def write_shards(folder: Path) -> None:
    import huggingface_hub
    from checkpoints import make_net

    state = {name: tensor.contiguous().clone() for name, tensor in make_net().state_dict().items()}
    for name, safe in (("shards", True), ("bin_shards", False)):
        path = folder / name
        path.mkdir()
        huggingface_hub.save_torch_state_dict(state, path, max_shard_size="1KB", safe_serialization=safe)
        write_expected(path, state)


def make(folder: Path) -> None:
    import amx
    import odd_metadata
    import odd_states
    import torch

    amx.leave_out_broken_amx()  # some are trained in bf16
    words = [sys.executable, SUPPORT / "ranked_checkpoints.py", folder, *RANKED]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as running:
        write_shards(folder)
    if running.returncode != 0:
        raise SystemExit(f"{running.args} failed")
    odd_metadata.write_all(folder / "dcp-2" / "model", folder / "odd_metadata")
    odd_states.write_all(folder / "deepspeed-2", folder / "deepspeed-made")
    for path in folder.glob("*/*.expected.pth"):
        write_expected(path.with_name(path.name.removesuffix(".expected.pth")), torch.load(path))
        path.unlink()


def main() -> None:
    folder = Path(sys.argv[1])
    stamp = folder / "stamp"
    if stamp.exists() and stamp.read_text() == current_stamp():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make(folder)
    stamp.write_text(current_stamp())


if __name__ == "__main__":
    main()
