# SPDX-License-Identifier: Apache-2.0
"""Small random models of texts with their tokenizers, as folders of transformers, and the tools as users run them."""

import importlib
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import transformers
from tally_data import errors
from tokenizer_folders import save_tokenizer_folder

# Larger weights than usual, so that what is predicted varies.
SIZES: dict[str, dict[str, Any]] = {
    "bert": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
             "max_position_embeddings": 128, "initializer_range": 0.25},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64, "max_position_embeddings": 128,
                   "initializer_range": 0.25},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128, "initializer_range": 0.25, "pad_token_id": 0},
}  # fmt: skip
SIZES["roberta"] = SIZES["bert"] | {"type_vocab_size": 1, "pad_token_id": 1}
SIZES["deberta"] = SIZES["bert"] | {
    "type_vocab_size": 0, "pad_token_id": 1, "relative_attention": True, "pos_att_type": ["c2p", "p2c"],
}  # fmt: skip
TOKENIZERS = {"distilbert": "bert"}


def save_text_model(folder: Path, class_name: str, names: list[str] | None = None, **more: Any) -> Path:
    """class_name: such as BertForSequenceClassification; names: of its classes."""
    torch.manual_seed(0)
    base = getattr(transformers, class_name)
    kind = base.config_class.model_type
    save_tokenizer_folder(folder, TOKENIZERS.get(kind, kind))
    if kind in TOKENIZERS:  # which is the other one's in all but name
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"tokenizer_class": "DistilBertTokenizer"}))
    size = len(transformers.AutoTokenizer.from_pretrained(folder))
    labels = {"id2label": dict(enumerate(names)), "label2id": {name: at for at, name in enumerate(names)}} if names else {}
    module = base(base.config_class(vocab_size=size, **SIZES[kind], **labels, **more)).eval()
    if not class_name.endswith("ForMultipleChoice"):  # whose one score favours no choice by its place
        _balance(module, size)
    module.save_pretrained(folder)
    return folder


@torch.inference_mode()
def _balance(module: transformers.PreTrainedModel, size: int) -> None:
    """Moves the scores so that none of the classes is always ahead, where they have a bias."""
    count = module.config.num_labels
    scores = module(torch.randint(5, size, (64, 16))).logits.reshape(-1, count)
    head = [part for part in module.modules() if isinstance(part, torch.nn.Linear) and part.out_features == count][-1]
    if head.bias is not None:
        head.bias -= scores.mean(0)


def run_tool(name: str, *options: object) -> str:
    """In this process, where transformers is loaded already; returns what it printed."""
    module, out, err = importlib.import_module(name), io.StringIO(), io.StringIO()
    command = [name, *map(str, options)]
    with mock.patch.object(sys, "argv", command), redirect_stdout(out), redirect_stderr(err):
        with pytest.raises(SystemExit) as ended:
            errors.run_tool(name, module.main)
    assert ended.value.code == 0, f"{command}\n{out.getvalue()}\n{err.getvalue()}"
    return out.getvalue()
