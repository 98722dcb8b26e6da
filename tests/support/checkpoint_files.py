# SPDX-License-Identifier: Apache-2.0
"""Forms of one file: of torch.save, of Lightning and of safetensors."""

import argparse
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from checkpoints import Form, State, copied
from torch import nn
from torch.utils.serialization import config as save_config
from varied_net import VariedNet


def _saved(make: Callable[[VariedNet], object], **options: object) -> Callable[[Path, VariedNet], Path]:
    """Writes what make(net) returns by torch.save."""

    def write(folder: Path, net: VariedNet) -> Path:
        path = folder / "weights.pt"
        torch.save(make(net), path, **options)
        return path

    return write


def _training(key: str, state_of: Callable[[VariedNet], object]) -> Callable[[VariedNet], dict[str, object]]:
    """The weights at `key`, and what stands beside them in a training script's checkpoint."""

    def make(net: VariedNet) -> dict[str, object]:
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.0, weight_decay=0.0)
        sum(parameter.sum() for parameter in net.parameters()).backward()
        optimizer.step()
        return {
            "epoch": 3,
            "args": argparse.Namespace(lr=0.1, arch="varied", milestones=[1, 2]),
            "best_prec1": np.float64(91.5),
            "losses": np.arange(4.0),
            "rng": torch.get_rng_state(),
            key: state_of(net),
            "optimizer": optimizer.state_dict(),
        }

    return make


def _state_dict(net: VariedNet) -> State:
    return net.state_dict()


def _copied(net: VariedNet) -> State:
    return copied(net.state_dict())


def _under(prefix: str) -> Callable[[VariedNet], State]:
    return lambda net: {prefix + name: tensor for name, tensor in net.state_dict().items()}


def _parameters(net: VariedNet) -> dict[str, nn.Parameter]:
    state = _copied(net)
    return {name: nn.Parameter(tensor, tensor.is_floating_point()) for name, tensor in state.items()}


def _views(net: VariedNet) -> State:
    """All tensors of one type are parts of one storage, those that may be transposed are."""
    state = _copied(net)
    pool = torch.zeros(2000, dtype=net.conv.weight.dtype)
    first = 3
    for name, tensor in state.items():
        if tensor.dtype != pool.dtype:
            continue
        part = pool[first : first + tensor.numel()]
        first += tensor.numel()
        view = part.view(tensor.t().shape).t() if tensor.dim() == 2 else part.view(tensor.shape)
        state[name] = view.copy_(tensor)
    return state


def _with_attributes(net: VariedNet) -> State:
    state = _copied(net)
    for tensor in state.values():
        tensor.tensor_parallel = False  # as Megatron marks them
    return state


def _averaged(net: VariedNet) -> State:
    return torch.optim.swa_utils.AveragedModel(net).state_dict()


def _aligned(folder: Path, net: VariedNet) -> Path:
    with save_config.patch("save.storage_alignment", 4096):
        return _saved(_state_dict)(folder, net)


def _safetensors(folder: Path, net: VariedNet) -> Path:
    path = folder / "model.safetensors"
    contiguous = {name: tensor.contiguous() for name, tensor in _copied(net).items()}
    safetensors.torch.save_file(contiguous, path, metadata={"format": "pt"})
    return path


def _safetensors_of_model(folder: Path, net: VariedNet) -> Path:
    """Of tied weights one is in the file."""
    path = folder / "model.safetensors"
    safetensors.torch.save_model(net, path)
    return path


def _lightning(folder: Path, net: VariedNet) -> Path:
    import lightning_runs  # loads Lightning, which takes seconds

    return lightning_runs.trained_checkpoint(folder, net)


OLD = {"_use_new_zipfile_serialization": False}

FILES: dict[str, Form] = {
    "state_dict": Form(_saved(_state_dict)),
    "plain_dict": Form(_saved(_copied)),
    "ordered_dict": Form(_saved(lambda net: OrderedDict(_copied(net)))),
    "parameters": Form(_saved(_parameters)),
    "views_of_one_storage": Form(_saved(_views)),
    "tensors_with_attributes": Form(_saved(_with_attributes)),
    "protocol_4": Form(_saved(_state_dict, pickle_protocol=4)),
    "protocol_5": Form(_saved(_training("model", _state_dict), pickle_protocol=5)),
    "aligned_to_pages": Form(_aligned),
    "legacy": Form(_saved(_state_dict, **OLD)),
    "legacy_nested": Form(
        _saved(_training("state_dict", _under("module.")), **OLD), says=("entry 'state_dict'", "prefix 'module.'")
    ),
    "legacy_parameters": Form(_saved(_parameters, **OLD)),
    **{
        f"nested_in_{key}": Form(_saved(_training(key, _state_dict)), says=(f"taken from its entry '{key}'",))
        for key in ("model_state_dict", "model", "state_dict", "ema")
    },
    "nested_elsewhere": Form(_saved(_training("net", lambda net: {"student.v1": _copied(net)})), key="net.student.v1"),
    "data_parallel": Form(_saved(lambda net: nn.DataParallel(net).state_dict()), says=("prefix 'module.'",)),
    "compiled": Form(_saved(lambda net: torch.compile(net).state_dict()), says=("prefix '_orig_mod.'",)),
    "compiled_in_parallel": Form(_saved(lambda net: nn.DataParallel(torch.compile(net)).state_dict())),
    "inner_model": Form(_saved(_under("model.")), says=("prefix 'model.'",)),
    "lightning": Form(_lightning, says=("'state_dict'", "prefix 'model.'")),
    "safetensors": Form(_safetensors),
    "safetensors_of_model": Form(_safetensors_of_model),
}

# A count stands beside the weights in the same dict.
AVERAGED = Form(_saved(_averaged), says=("prefix 'module.'",))
