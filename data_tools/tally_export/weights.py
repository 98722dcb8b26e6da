# SPDX-License-Identifier: Apache-2.0
"""Loads weights into a module: what `tally evaluate --weights` would take of a checkpoint, read by tally itself."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from tally_data.errors import EnvironmentFault, ModelError, ToolError, UsageError

NOTE = "tally: note: "
FAULTS: tuple[type[ToolError], ...] = (UsageError, ModelError, EnvironmentFault)


def find_program() -> str:
    """TALLY_BIN, tally on the PATH, or the one that was built or installed beside these tools."""
    root = Path(__file__).resolve().parents[2]
    beside = [root / "build" / "tally", root / "bin" / "tally", root.parent.parent / "bin" / "tally"]
    found = os.environ.get("TALLY_BIN") or shutil.which("tally")
    found = found or next((str(path) for path in beside if os.access(path, os.X_OK)), None)
    if found is None:
        raise EnvironmentFault(
            "--weights needs the program tally, which reads the checkpoint, and it is not on the PATH: "
            "build it (README.md), or name it in the variable TALLY_BIN"
        )
    return found


def held_tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    """All parameters and buffers under all of their names."""
    return dict(module.named_parameters(remove_duplicate=False)) | dict(
        module.named_buffers(remove_duplicate=False)
    )


def expected_weights(module: nn.Module, name: str) -> dict[str, Any]:
    """The list that `tally inspect --like` takes (docs/checkpoints.md)."""
    tensors: list[dict[str, Any]] = []
    first: dict[tuple[object, ...], str] = {}
    held = held_tensors(module)
    for own, tensor in held.items():
        place = (tensor.data_ptr() if tensor.numel() else own, tensor.shape, tensor.stride(), tensor.dtype)
        if (other := first.setdefault(place, own)) != own:
            tensors.append({"name": own, "same_as": other})
            continue
        dtype = str(tensor.dtype).removeprefix("torch.")
        tensors.append({"name": own, "dtype": dtype, "shape": list(tensor.shape)})
    stored = module.state_dict()
    fixed = [own for own in held if own not in stored]
    return {"model": name, "tensors": tensors, "fixed_buffers": fixed}


def _run(command: list[str]) -> list[str]:
    """Runs the program; returns its notes. A ToolError with its line and exit code where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise EnvironmentFault(f"the program '{command[0]}' cannot be run: {error.strerror}") from error
    lines = done.stderr.splitlines()
    if done.returncode != 0:
        said = lines[-1] if lines else f"'{command[0]}' ended with code {done.returncode}"
        kind = next((fault for fault in FAULTS if fault.exit_code == done.returncode), EnvironmentFault)
        raise kind(said.removeprefix(f"tally: error[{done.returncode}]: "))
    return [line.removeprefix(NOTE) for line in lines if line.startswith(NOTE)]


def load_weights(module: nn.Module, name: str, path: Path, options: dict[str, str | None], folder: Path) -> list[str]:
    """Every parameter and buffer must be there, of its shape; nothing may be left over. Returns notes.

    options: of the program, as "weights-key", where they are given; folder: for a temporary file of the weights' size.
    """
    with tempfile.TemporaryDirectory(prefix=".tally-weights-", dir=folder) as temporary:
        like, taken = Path(temporary) / "like.json", Path(temporary) / "taken.safetensors"
        like.write_text(json.dumps(expected_weights(module, name)))
        words = [find_program(), "inspect", str(path.absolute()), "--to-safetensors", str(taken), "--like", str(like)]
        words += [word for key, value in options.items() if value is not None for word in (f"--{key}", value)]
        notes = _run(words)
        held = held_tensors(module)
        with torch.no_grad():
            for own, tensor in load_file(taken).items():
                held[own].copy_(tensor)
    return notes


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file; a folder has none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class WeightsFile:
    """Weights that a model has. tag: of a library's own."""

    path: Path
    tag: str | None = None

    def card_entry(self) -> dict[str, str | None]:
        return ({"tag": self.tag} if self.tag else {}) | {"path": self.path.name, "sha256": digest_of(self.path)}

    def __str__(self) -> str:
        return self.tag or self.path.name
