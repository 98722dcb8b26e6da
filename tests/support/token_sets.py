# SPDX-License-Identifier: Apache-2.0
"""Small texts, a tokenizer for them, and what data set files of a language model hold."""

import json
from collections.abc import Iterable
from pathlib import Path

import h5py
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

IGNORED = -100
DOCUMENTS = {"b": "Grüße, 世界 😀!\r\nA second line.  ", "a": "x", "none": "", "long": "abc " * 50, "two": "hi"}
COLUMNS = ("inputs/input_ids", "targets/label", "inputs/attention_mask", "lengths", "targets/unit")
Row = tuple[list[int], list[int]]  # what the model sees; the token that should follow each place, or IGNORED


def write_lines(path: Path, values: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def write_documents(path: Path, documents: dict[str, str]) -> Path:
    return write_lines(path, ({"id": name, "text": text} for name, text in documents.items()))


def read_rows(path: Path) -> list[list[Row]]:
    """Of each unit."""
    with h5py.File(path) as file:
        found: list[list[Row]] = [[] for _ in file["units/id/offsets"][1:]]
        columns = (file[name][...] for name in COLUMNS)
        for ids, label, mask, length, unit in zip(*columns, strict=True):
            assert mask.tolist() == [1] * length + [0] * (len(mask) - length)
            assert not ids[length:].any() and (label[length:] == IGNORED).all()
            found[unit].append((ids[:length].tolist(), label[:length].tolist()))
        return found


def save_tokenizer(path: Path) -> Path:
    """Byte-pair encoding as GPT-2's, that would cut texts, pad them, and put special tokens around them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|endoftext|>", "<pad>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator([*DOCUMENTS.values(), "the cat, the dog, and the owl " * 9], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A <|endoftext|>", special_tokens=[("<|endoftext|>", 0)]
    )
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>", length=9)
    tokenizer.save(str(path))
    return path


def load_tokenizer(path: Path) -> Tokenizer:
    """Whole texts, and nothing around them."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
