# SPDX-License-Identifier: Apache-2.0
"""Folders with tiny tokenizers of the usual kinds, as transformers saves them, and texts for them."""

import json
from pathlib import Path
from typing import Any

import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

TEXTS = [
    "The quick brown fox jumps over the lazy dog.", "Not a good film, but not an awful one!",
    "Grüße aus München 世界 😀", "it isn't U.S. policy", "  blanks  and\ttabs ", "unknown ☃ [SEP] </s> words", "x",
    "the cat and the dog " * 9,
]  # fmt: skip
PAIRS = [
    "A fox is quick.", "", "世界", "the U.S. isn't here, and neither is the dog " * 4, "a b c", "good", "awful film", "dog"
]  # fmt: skip
WORDS = "the a an quick brown fox jump over lazy dog not good film but awful one and cat is here ##s ##n ##e ##ly . , ! [ ]"
SPECIAL = {
    "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "gpt2": ["<|endoftext|>"],
    "deberta": ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"], "xlm-roberta": ["<s>", "<pad>", "</s>", "<unk>"],
}  # fmt: skip
KINDS = ("bert", *SPECIAL)


def _byte_pairs(special: list[str]) -> dict[str, Any]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXTS + PAIRS, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return {"vocab": model["vocab"], "merges": [tuple(merge) for merge in model["merges"]]}


def _unigram(special: list[str]) -> dict[str, Any]:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(TEXTS + PAIRS, trainer)
    return {"vocab": [tuple(piece) for piece in json.loads(tokenizer.to_str())["model"]["vocab"]]}


def save_tokenizer_folder(folder: Path, kind: str) -> Path:
    """kind: one of KINDS, a model type of transformers; beside the tokenizer lies a config.json with this type."""
    if kind == "bert":
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split(), *"bcdefghijklmnopqrstuvwxyz", "##a", "##t"]
        tokenizer = transformers.BertTokenizer(vocab={word: number for number, word in enumerate(words)})
    elif kind == "xlm-roberta":
        tokenizer = transformers.XLMRobertaTokenizer(**_unigram(SPECIAL[kind]))
    else:
        classes = {"roberta": "RobertaTokenizer", "gpt2": "GPT2Tokenizer", "deberta": "DebertaTokenizer"}
        tokenizer = getattr(transformers, classes[kind])(**_byte_pairs(SPECIAL[kind]))
    tokenizer.save_pretrained(folder)
    if not (folder / "config.json").exists():
        (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    return folder
