"""Loads a file of weights into a module, by name, completely."""

import hashlib
import pickle
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from tally_data.errors import ModelError

# Where training programs put the state_dict in a checkpoint; the averaged weights are what should be evaluated.
STATE_KEYS = (
    "state_dict_ema",
    "model_ema",
    "state_dict",
    "model_state_dict",
    "model",
    "module",
    "net",
    "weights",
)
WRAPPERS = ("module.", "_orig_mod.")  # DistributedDataParallel, torch.compile

StateDict = dict[str, torch.Tensor]


def _is_state_dict(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(item, torch.Tensor) for item in value.values())
    )


def _load_pickle(path: Path) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"weights '{path}' hold more than tensors (a whole module?), which would run foreign code; "
            "save module.state_dict() instead"
        ) from error
    except OSError:
        raise
    except Exception as error:  # on foreign bytes the unpickler may raise nearly anything
        reason = (str(error).strip().splitlines() or [""])[0]
        raise ModelError(
            f"weights '{path}' are not a file of torch.save ({type(error).__name__}: {reason})"
        ) from error


def read_state_dict(path: Path, key: str | None) -> StateDict:
    """A state_dict of .safetensors or torch.save; in a training checkpoint under `key`, or under a usual one."""
    if not path.is_file():
        raise ModelError(f"weights '{path}' do not exist or are no file")
    try:
        content = load_file(path) if path.suffix == ".safetensors" else _load_pickle(path)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"weights '{path}' cannot be read: {error}") from error
    if key is None and _is_state_dict(content):
        return content
    keys = STATE_KEYS if key is None else (key,)
    for candidate in keys:
        if isinstance(content, dict) and _is_state_dict(content.get(candidate)):
            return content[candidate]
    found = (
        f"the keys {', '.join(map(str, list(content)[:8]))}"
        if isinstance(content, dict)
        else type(content).__name__
    )
    raise ModelError(
        f"weights '{path}' hold no state_dict under {', '.join(keys)}, but {found}; see --weights-key"
    )


def without_wrappers(state: StateDict, wanted: set[str]) -> StateDict:
    """Removes `module.` and `_orig_mod.` where the module itself does not have them."""
    for prefix in WRAPPERS * 2:
        if all(name.startswith(prefix) for name in state) and not any(
            name.startswith(prefix) for name in wanted
        ):
            state = {name.removeprefix(prefix): value for name, value in state.items()}
    return state


def load_weights(module: nn.Module, path: Path, key: str | None) -> None:
    """Every parameter and buffer must be there, of the right shape; nothing may be left over."""
    wanted = module.state_dict()
    state = without_wrappers(read_state_dict(path, key), set(wanted))
    # Counters of batch normalisation that older files lack; they play no part in evaluation.
    missing = [name for name in wanted if name not in state and not name.endswith("num_batches_tracked")]
    left_over = [name for name in state if name not in wanted]
    if missing or left_over:
        parts = []
        if missing:
            parts.append(f"lack {len(missing)} tensors of the model, first '{missing[0]}'")
        if left_over:
            parts.append(f"have {len(left_over)} that the model has not, first '{left_over[0]}'")
        raise ModelError(f"weights '{path}' {' and '.join(parts)}")
    for name, value in state.items():
        if value.shape != wanted[name].shape:
            found, expected = list(value.shape), list(wanted[name].shape)
            raise ModelError(
                f"weights '{path}': '{name}' has the shape {found}, the model expects {expected}"
            )
    module.load_state_dict(state, strict=False)


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
