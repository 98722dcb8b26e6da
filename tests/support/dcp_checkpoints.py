# SPDX-License-Identifier: Apache-2.0
"""Forms of torch.distributed.checkpoint, for ranked_checkpoints.py."""

from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from checkpoints import make_net
from torch import distributed, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from varied_net import VariedNet, make_trainable


def _sharded(precision: str = "fp32") -> VariedNet:
    net = make_trainable(make_net(precision))
    for layer in (net.conv, net.narrow, net.wide):
        fully_shard(layer)
    fully_shard(net)
    return net


def _replicated(precision: str = "fp32") -> nn.Module:
    return DistributedDataParallel(make_net(precision))


def _tensor_parallel() -> VariedNet:
    """Sharded over rows and over columns."""
    net = make_net()
    mesh = init_device_mesh("cpu", (distributed.get_world_size(),))
    return parallelize_module(net, mesh, {"narrow": RowwiseParallel(), "wide": ColwiseParallel()})


def _first_kind_of_sharding() -> nn.Module:
    """FSDP of before DTensor: parts of flattened parameters, gathered into shards of rows."""
    net = make_trainable(make_net())
    return FullyShardedDataParallel(net, use_orig_params=True, device_id=torch.device("cpu"))


def _optimizer(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(net.parameters(), lr=0.0, weight_decay=0.0)


class _App(dcp.stateful.Stateful):
    """As in PyTorch's recipe: model and optimizer as one object."""

    def __init__(self, net: nn.Module) -> None:
        self.net, self.optimizer = net, _optimizer(net)

    def state_dict(self) -> dict[str, object]:
        model, optimizer = get_state_dict(self.net, self.optimizer)
        return {"model": model, "optim": optimizer, "epoch": 3, "note": "said"}

    def load_state_dict(self, state: dict[str, object]) -> None:
        raise NotImplementedError


def _nested(net: nn.Module) -> dict[str, object]:
    model, optimizer = get_state_dict(net, _optimizer(net))
    return {"model": model, "optimizer": optimizer, "epoch": 3}


def _forms() -> dict[str, tuple[dict[str, object], dict[str, object]]]:
    """Name: what is saved, and how."""
    many_files = {"single_file_per_rank": False, "thread_count": 2}
    no_weights = {"step": torch.tensor([7.0]), "random": torch.zeros(9, dtype=torch.uint8)}
    sharded = _sharded()
    return {
        "flat": (get_model_state_dict(sharded), {}),
        "model": ({"model": get_model_state_dict(_sharded())}, {}),
        "model_and_optimizer": (_nested(_sharded()), {}),
        "app": ({"app": _App(_sharded())}, {}),
        "bf16": ({"model": get_model_state_dict(_sharded("bf16"))}, {}),
        "many_files": (get_model_state_dict(_sharded()), many_files),
        "own_names": ({"step": 7, "state_dict": {"net": get_model_state_dict(_sharded())}}, {}),
        "beside_others": (get_model_state_dict(_sharded()) | {"optim_state": {"m": torch.ones(3)}, "rng": {"cpu": torch.ones(3)}}, {}),
        "beside_a_step": (no_weights | {"encoder": get_model_state_dict(_sharded())}, {}),
        "full": ({"model": get_model_state_dict(sharded, options=StateDictOptions(full_state_dict=True))}, {}),
        "tensor_parallel": ({"model": get_model_state_dict(_tensor_parallel())}, {}),
        "first_kind": (get_model_state_dict(_first_kind_of_sharding()), {}),
        "replicated": (_nested(_replicated()), {}),
        "replicated_prefixed": ({"model": _replicated().state_dict()}, {}),
        "replicated_bf16": (get_model_state_dict(_replicated("bf16")), {}),
    }


def write_all(folder: Path) -> None:
    for name, (state, how) in _forms().items():
        dcp.save(state, storage_writer=dcp.FileSystemWriter(folder / name, **how))
        if distributed.get_rank() == 0:
            torch.save(make_net("bf16" if "bf16" in name else "fp32").state_dict(), folder / f"{name}.expected.pth")
