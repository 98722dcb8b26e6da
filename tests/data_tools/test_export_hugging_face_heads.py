# SPDX-License-Identifier: Apache-2.0
"""export_model --model hf:...: models that no task scores are refused before anything of them is loaded."""

import json
from pathlib import Path

import pytest
import transformers

from conftest import Tool

NAME = "export_model"
ENCODER_DECODERS = {
    "T5ForConditionalGeneration": {"d_model": 8, "d_ff": 8, "num_layers": 1, "num_heads": 1, "d_kv": 8, "vocab_size": 9},
    "BartForSequenceClassification": {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "vocab_size": 9},
    "MarianMTModel": {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "vocab_size": 9},
}


@pytest.mark.parametrize("name", ENCODER_DECODERS)
def test_encoder_decoders(tmp_path: Path, fail: Tool, name: str) -> None:
    """Before any of it is loaded or run: its weights are no file that could be read."""
    config = getattr(transformers, name).config_class(**ENCODER_DECODERS[name], architectures=[name])
    config.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"x")
    fail(NAME, "--model", f"hf:{tmp_path}", code=4, says=f"encoder-decoder models are not supported, and {name} is one")


def test_the_decoder_of_an_encoder_decoder(tmp_path: Path, succeed: Tool) -> None:
    sizes = {"decoder_layers": 1, "decoder_attention_heads": 1, "decoder_ffn_dim": 8, "max_position_embeddings": 200}
    config = transformers.BartConfig(**(ENCODER_DECODERS["MarianMTModel"] | sizes), architectures=["BartForCausalLM"])
    config.save_pretrained(tmp_path)
    content = json.loads((tmp_path / "config.json").read_text())
    assert content["is_encoder_decoder"]
    succeed(NAME, "--model", f"hf:{tmp_path}", "--output", tmp_path / "m.pt")


def test_models_of_multiple_choice(tmp_path: Path, fail: Tool) -> None:
    transformers.BertConfig(architectures=["BertForMultipleChoice"]).save_pretrained(tmp_path)
    says = "BertForMultipleChoice scores all choices of a question at once, which is not supported: the task multiple-choice "
    fail(NAME, "--model", f"hf:{tmp_path}", code=4, says=says + "compares the likelihoods that a causal language model")
