# SPDX-License-Identifier: Apache-2.0
"""The networks of the benchmarks: those of the end-to-end tests, torchvision's, timm's, and two of transformers, with seeded weights.

`networks.py:NAME` names one for export_model.py.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
import torchvision

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import models  # noqa: E402

CLASSES = 1000
TOKENS = 128  # of a text
VOCABULARY = {"bert_base": 30522, "gpt2": 50257}


def __getattr__(name: str) -> Callable[[], torch.nn.Module]:
    if name.startswith("_"):
        raise AttributeError(name)
    return functools.partial(make, name)


def make(name: str) -> torch.nn.Module:
    if name in models.ALL:
        return models.ALL[name]()
    torch.manual_seed(models.SEED)
    if name in VOCABULARY:
        return _give_biases(_TextClassifier(name))
    if name in torchvision.models.list_models(module=torchvision.models):
        return _give_biases(torchvision.models.get_model(name, weights=None))
    import timm

    return _give_biases(timm.create_model(name, pretrained=False, exportable=True))


def normalisation(name: str) -> dict | None:
    """What a network of the end-to-end tests was trained with."""
    card = getattr(models.ALL[name](), "tally_card", None) if name in models.ALL else None
    return card["normalisation"] if card else None


def normaliser(
    name: str, attributes: Mapping, layout: torch.memory_format, dtype: torch.dtype
) -> Callable[[torch.Tensor], torch.Tensor]:
    """From images as they are stored, [batch, height, width, channels] bytes, to what the network takes; it normalises as
    the network was trained, where that is known, else as the attributes of the data set say."""
    trained = normalisation(name) or attributes
    swaps, order = swaps_channels(trained, attributes), [2, 1, 0]
    mean = torch.tensor(trained["mean"], dtype=torch.float32).view(1, -1, 1, 1)
    std = torch.tensor(trained["std"], dtype=torch.float32).view(1, -1, 1, 1)
    factor, shift = float(trained["scale"]) / std, mean / std

    def normalise(images: torch.Tensor) -> torch.Tensor:
        stored = (images[..., order] if swaps else images).permute(0, 3, 1, 2)
        return stored.to(torch.float32, memory_format=layout).mul_(factor).sub_(shift).to(dtype)

    return normalise


def swaps_channels(trained: Mapping, attributes: Mapping) -> bool:
    """Whether a network wants them in the other order than they are stored in."""
    wanted, stored = (one["channels"] for one in (trained, attributes))
    return text(wanted) != text(stored)


def text(attribute: bytes | str) -> str:
    return attribute.decode() if isinstance(attribute, bytes) else attribute


def side(name: str) -> int:
    """Pixels of an image's side."""
    if name in models.ALL:
        return models.ALL[name]().tally_card["inputs"][0]["shape"][-1]
    if name in torchvision.models.list_models(module=torchvision.models):
        return torchvision.models.get_model_weights(name).DEFAULT.transforms().crop_size[0]
    import timm

    return timm.get_pretrained_cfg(name).input_size[-1]


def _give_biases(module: torch.nn.Module) -> torch.nn.Module:
    """Small ones, as trained networks have: constructors leave many at 0, which compilers may treat as a special case."""
    with torch.no_grad():
        for key, parameter in module.named_parameters():
            if key.endswith("bias"):
                parameter.add_(torch.randn_like(parameter) * 0.02)
    return module


class _TextClassifier(torch.nn.Module):
    """BERT's or GPT-2's network with random weights; input [batch, TOKENS] token ids, returns logits [batch, 2]."""

    def __init__(self, name: str) -> None:
        super().__init__()
        import transformers

        eager = {"attn_implementation": "eager"} if name == "gpt2" else {}
        config = {"bert_base": transformers.BertConfig, "gpt2": transformers.GPT2Config}[name](**eager, use_cache=False)
        self.body = {"bert_base": transformers.BertModel, "gpt2": transformers.GPT2Model}[name](config)
        self.head = torch.nn.Linear(config.hidden_size, 2)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(input_ids=input_ids).last_hidden_state.mean(1))
