# SPDX-License-Identifier: Apache-2.0
"""Forms of DeepSpeed's ZeRO, for ranked_checkpoints.py. What they stand for is what its own zero_to_fp32 finds."""

from pathlib import Path

import deepspeed
import torch
from checkpoints import make_net
from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
from torch import distributed
from varied_net import VariedNet, make_buffer, make_trainable

STEPS = 3

# Its collective operations in shared memory would be compiled first, behind a lock file that waits forever for a process
# that was ended while it compiled. Gloo's give the same checkpoints.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False


def _groups(net: VariedNet) -> list[dict[str, object]]:
    """As most trainings have them: matrices with weight decay, the rest without."""
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    return [
        {"params": [parameter for parameter in parameters if parameter.dim() > 1], "weight_decay": 0.01},
        {"params": [parameter for parameter in parameters if parameter.dim() <= 1], "weight_decay": 0.0},
    ]


def _trained(net: VariedNet, stage: int, precision: str) -> deepspeed.DeepSpeedEngine:
    """After some steps the weights kept in fp32 are no rounded ones."""
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "zero_optimization": {"stage": stage},
        "zero_allow_untested_optimizer": True,
        "bf16": {"enabled": precision == "bf16"},
    }
    optimizer = torch.optim.AdamW(_groups(net), lr=1e-3)
    engine, *_ = deepspeed.initialize(model=net, optimizer=optimizer, config=config)
    generator = torch.Generator().manual_seed(distributed.get_rank())
    for _ in range(STEPS):
        engine.backward(engine(torch.rand(4, 3, 8, 8, generator=generator)).square().mean())
        engine.step()
    return engine


def _write(folder: Path, stage: int, precision: str, *, frozen: bool = False) -> None:
    net = make_trainable(make_net(precision))
    if stage != 2:
        make_buffer(net, "empty")  # as a parameter, 3 cannot gather it and 1 forgets it
    for parameter in net.wide.parameters():
        parameter.requires_grad = not frozen
    _trained(net, stage, precision).save_checkpoint(str(folder))
    distributed.barrier()
    if distributed.get_rank() == 0:
        state = get_fp32_state_dict_from_zero_checkpoint(str(folder))
        torch.save(dict(state), folder.with_name(f"{folder.name}.expected.pth"))


def write_all(folder: Path) -> None:
    for stage in (1, 2, 3):
        _write(folder / f"stage{stage}_bf16", stage, "bf16")
        _write(folder / f"stage{stage}_fp32", stage, "fp32")
    _write(folder / "stage2_frozen", 2, "bf16", frozen=True)
    _write(folder / "stage3_frozen", 3, "bf16", frozen=True)
