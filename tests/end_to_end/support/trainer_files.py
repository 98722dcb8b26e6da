# SPDX-License-Identifier: Apache-2.0
"""What eight kinds of trainers leave of one network: its raw weights, and their average (EMA) beside them."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from checkpoint_files import FILES
from checkpoints import State
from sharded_files import SHARDED
from torch import nn
from torch.distributed import checkpoint as dcp
from varied_net import VariedNet

ARGS = argparse.Namespace(lr=0.1, model="varied", milestones=[1, 2])


@dataclass(frozen=True)
class Trainer:
    """write(empty folder, raw, average) returns what --weights names. average: options that take the average."""

    write: Callable[[Path, VariedNet, VariedNet], Path]
    average: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # where the raw weights are taken


def _saved(make: Callable[[VariedNet, VariedNet], object]) -> Callable[[Path, VariedNet, VariedNet], Path]:
    def write(folder: Path, raw: VariedNet, average: VariedNet) -> Path:
        path = folder / "checkpoint.pth"
        torch.save(make(raw, average), path)
        return path

    return write


def _with_prefix(prefix: str, state: State) -> State:
    return {prefix + name: tensor for name, tensor in state.items()}


def _timm(raw: VariedNet, average: VariedNet) -> object:
    optimizer = torch.optim.SGD(raw.parameters(), lr=0.1)
    return {"epoch": 3, "arch": "varied", "state_dict": raw.state_dict(), "optimizer": optimizer.state_dict(),
            "version": 2, "args": ARGS, "state_dict_ema": average.state_dict(), "metric": 91.5}  # fmt: skip


def _torchvision(raw: VariedNet, average: VariedNet) -> object:
    model_ema = torch.optim.swa_utils.AveragedModel(average, use_buffers=True)
    return {"model": raw.state_dict(), "optimizer": {}, "lr_scheduler": {}, "epoch": 3, "args": ARGS,
            "model_ema": model_ema.state_dict()}  # fmt: skip


def _lucidrains(raw: VariedNet, average: VariedNet) -> object:
    ema = {"initted": torch.tensor(True), "step": torch.tensor([7])}
    ema |= _with_prefix("online_model.", raw.state_dict()) | _with_prefix("ema_model.", average.state_dict())
    return {"step": 7, "model": raw.state_dict(), "opt": {}, "ema": ema, "scaler": None}


def _own_loop(raw: VariedNet, average: VariedNet) -> object:
    compiled = nn.DataParallel(torch.compile(raw)).state_dict()
    return {"module": compiled, "ema": _with_prefix("module.", average.state_dict()), "rng": torch.get_rng_state()}


def _distributed(folder: Path, raw: VariedNet, average: VariedNet) -> Path:
    state = {"model": raw.state_dict(), "ema": average.state_dict(), "optim": {"lr": 0.1}}
    dcp.save(state, checkpoint_id=folder / "step-3", no_dist=True)
    return folder / "step-3"


def _zero(folder: Path, raw: VariedNet, _average: VariedNet) -> Path:
    """Stage 2 of two ranks."""
    step = folder / "global_step3"
    step.mkdir()
    (folder / "latest").write_text(step.name)
    parameters = dict(raw.named_parameters())
    buffers = dict(raw.named_buffers())
    flat = torch.cat([tensor.detach().reshape(-1) for tensor in parameters.values()])
    flat = torch.cat([flat, flat.new_zeros(-len(flat) % 4)])
    shapes = [{name: tensor.shape for name, tensor in parameters.items()}]
    shared = {"tied_out.weight": "tied_in.weight"}
    torch.save({"module": raw.state_dict(), "buffer_names": list(buffers), "param_shapes": shapes,
                "frozen_param_shapes": None, "frozen_param_fragments": None, "shared_params": shared},
               step / "mp_rank_00_model_states.pt")  # fmt: skip
    for rank, part in enumerate(flat.chunk(2)):
        state = {"zero_stage": 2, "partition_count": 2, "single_partition_of_fp32_groups": [part.clone()]}
        path = step / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt"
        torch.save({"optimizer_state_dict": state, "ds_version": "0.18"}, path)
    return folder


def _of_form(form: object) -> Callable[[Path, VariedNet, VariedNet], Path]:
    return lambda folder, raw, _average: form.write(folder, raw)


TRAINERS: dict[str, Trainer] = {
    "timm": Trainer(
        _saved(_timm), ("--weights-key", "state_dict_ema"),
        ("entry 'state_dict'", "EMA weights lie in 'state_dict_ema'; --weights-key state_dict_ema takes them"),
    ),
    "torchvision": Trainer(
        _saved(_torchvision), ("--weights-key", "model_ema"), ("entry 'model'", "EMA weights lie in 'model_ema'")
    ),
    "lucidrains": Trainer(
        _saved(_lucidrains), ("--weights-key", "ema", "--weights-prefix", "ema_model."), ("EMA weights lie in 'ema'",)
    ),
    "own_loop": Trainer(
        _saved(_own_loop), ("--weights-key", "ema"),
        ("entry 'module'", "prefix 'module._orig_mod.'", "EMA weights lie in 'ema'"),
    ),
    "lightning": Trainer(_of_form(FILES["lightning"]), (), ("entry 'state_dict'", "prefix 'model.'")),
    "transformers": Trainer(_of_form(SHARDED["transformers_trainer"])),
    "accelerate": Trainer(_of_form(SHARDED["accelerate_folder"])),
    "distributed": Trainer(
        _distributed, ("--weights-key", "ema"), ("entry 'model'", "EMA weights lie in 'ema'; --weights-key ema takes")
    ),
    "zero": Trainer(_zero),
}  # fmt: skip
