# SPDX-License-Identifier: Apache-2.0
"""Known networks, exported and traced by hand: which files are refused for training mode."""

from pathlib import Path

import architectures as nets
import pytest
from launch import Program
from training_mode_sweep import outcomes

# With batch statistics of the data and of weights, dropped paths, dropped values, and the two kinds of attention.
NETS = ("timm:resnet10t", "timm:resnetv2_18", "timm:test_vit", "torchvision:squeezenet1_1", "hf:bert", "hf:gpt2")


@pytest.mark.filterwarnings("ignore")  # of tracing by hand
@pytest.mark.parametrize("net", NETS)
def test_only_training_mode_is_refused(net: str, tally: Program, tmp_path: Path) -> None:
    exported, traced, training = outcomes(nets.make_subject(net, tmp_path), tmp_path)
    assert training.expected and training.refused == "yes"
    for one in (exported, traced, training):
        assert one.is_right(), one
