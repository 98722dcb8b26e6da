# SPDX-License-Identifier: Apache-2.0
"""Forms of several files that one process writes: Hugging Face's shards with their index, and folders of trainers."""

from collections.abc import Callable
from pathlib import Path

import huggingface_hub
import torch
from accelerate import Accelerator
from checkpoints import Form
from transformers import PreTrainedConfig, PreTrainedModel, Trainer, TrainingArguments
from varied_net import VariedNet

# Small enough that the tensors do not fit into one file.
SHARD = "1KB"


class _Config(PreTrainedConfig):
    model_type = "varied"


class _Model(PreTrainedModel):
    """The net as a model of transformers."""

    config_class = _Config
    base_model_prefix = "model"
    _tied_weights_keys = {"model.tied_out.weight": "model.tied_in.weight"}

    def __init__(self, config: _Config, net: VariedNet) -> None:
        super().__init__(config)
        self.model = net
        self.all_tied_weights_keys = dict(self._tied_weights_keys)

    def forward(self, image: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.model(image)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class _Samples(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"image": torch.full((3, 8, 8), index / 16), "labels": torch.tensor(index % 7)}


def _hub(folder: Path, net: VariedNet, *, safe: bool) -> Path:
    state = {name: tensor.contiguous() for name, tensor in net.state_dict().items()}
    huggingface_hub.save_torch_state_dict(state, folder, max_shard_size=SHARD, safe_serialization=safe)
    return folder


def _transformers(folder: Path, net: VariedNet, size: str) -> Path:
    _Model(_Config(), net).save_pretrained(folder, max_shard_size=size)
    return folder


def _accelerate(folder: Path, net: VariedNet, *, safe: bool, size: str = SHARD) -> Path:
    Accelerator(cpu=True).save_model(net, folder, max_shard_size=size, safe_serialization=safe)
    return folder


def _accelerate_state(folder: Path, net: VariedNet, *, safe: bool) -> Path:
    """The whole state of a training: optimizer and random numbers beside the model."""
    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.AdamW(net.parameters())
    accelerator.prepare(net, optimizer)
    accelerator.save_state(folder, safe_serialization=safe)
    return folder


def _trainer(folder: Path, net: VariedNet) -> Path:
    arguments = TrainingArguments(
        folder, max_steps=2, save_steps=2, use_cpu=True, report_to=[], disable_tqdm=True, learning_rate=1e-3
    )
    Trainer(_Model(_Config(), net), arguments, train_dataset=_Samples()).train()
    return folder / "checkpoint-2"


def _index(write: Callable[[Path, VariedNet], Path]) -> Callable[[Path, VariedNet], Path]:
    """Names the index instead of the folder."""

    def write_and_find(folder: Path, net: VariedNet) -> Path:
        (path,) = write(folder, net).glob("*.index.json")
        return path

    return write_and_find


def _safe_hub(folder: Path, net: VariedNet) -> Path:
    return _hub(folder, net, safe=True)


def _pickled_hub(folder: Path, net: VariedNet) -> Path:
    return _hub(folder, net, safe=False)


SHARDED: dict[str, Form] = {
    "hub_index": Form(_index(_safe_hub)),
    "hub_folder": Form(_safe_hub),
    "hub_bin_index": Form(_index(_pickled_hub)),
    "hub_bin_folder": Form(_pickled_hub),
    "transformers_index": Form(_index(lambda folder, net: _transformers(folder, net, SHARD))),
    "transformers_folder": Form(lambda folder, net: _transformers(folder, net, SHARD)),
    "transformers_one_file": Form(lambda folder, net: _transformers(folder, net, "1GB")),
    "transformers_trainer": Form(_trainer),
    "accelerate_folder": Form(lambda folder, net: _accelerate(folder, net, safe=True)),
    "accelerate_bin_folder": Form(lambda folder, net: _accelerate(folder, net, safe=False)),
    "accelerate_bin_index": Form(_index(lambda folder, net: _accelerate(folder, net, safe=False))),
    "accelerate_one_bin": Form(lambda folder, net: _accelerate(folder, net, safe=False, size="1GB")),
    "accelerate_state": Form(lambda folder, net: _accelerate_state(folder, net, safe=True)),
    "accelerate_bin_state": Form(lambda folder, net: _accelerate_state(folder, net, safe=False)),
}
