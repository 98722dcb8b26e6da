# SPDX-License-Identifier: Apache-2.0
"""What the writers of checkpoints share: the net whose weights they write, and how one is called."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from varied_net import VariedNet

State = dict[str, torch.Tensor]

SEED = 5
FLOATS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Form:
    """One way to write weights."""

    # Writes into an empty folder; returns what --weights names. Then the net is as what was written: writers that
    # train change it first.
    write: Callable[[Path, VariedNet], Path]
    key: str | None = None  # --weights-key
    says: tuple[str, ...] = ()  # in notes on stderr


def make_net(precision: str = "fp32", seed: int = SEED) -> VariedNet:
    return VariedNet(seed).to(FLOATS[precision])


def copied(state: State) -> State:
    """Tensors of their own, in a plain dict."""
    return {name: tensor.clone() for name, tensor in state.items()}
