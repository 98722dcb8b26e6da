# SPDX-License-Identifier: Apache-2.0
"""A small language model of characters, trained in seconds, and data sets for it."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import small
import torch
from conftest import ROOT
from torch import nn

SPARE_TOKENS = 3  # one for a prefix; the others are of no text, as where a vocabulary is padded
STEPS, ROWS, LENGTH = 120, 24, 48  # of the training; about three seconds on one core


class CharacterModel(nn.Module):
    """input_ids: int64 [batch, length]; returns logits [batch, length, num_tokens], of the character that follows."""

    def __init__(self, num_tokens: int, hidden: int = 48) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_tokens, hidden)
        self.recurrent = nn.GRU(hidden, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, num_tokens)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.linear(self.recurrent(self.embedding(input_ids))[0])


@dataclass(frozen=True)
class Trained:
    """characters: in the order of their numbers; path: TorchScript with its card."""

    module: CharacterModel
    characters: str
    path: Path

    def prepare(self, folder: Path, documents: dict[str, str], *options: object) -> Path:
        """The data set of these documents, whose characters the model knows; options: of prepare_text."""
        lines = [{"id": name, "text": text} for name, text in documents.items()]
        return self._run("prepare_text", folder, lines, options)

    def prepare_choices(self, folder: Path, questions: Sequence[dict], *options: object) -> Path:
        return self._run("prepare_choices", folder, questions, options)

    def _run(self, tool: str, folder: Path, lines: Sequence[dict], options: Sequence[object]) -> Path:
        vocabulary, source, output = folder / "vocabulary", folder / f"{tool}.jsonl", folder / f"{tool}.h5"
        vocabulary.write_bytes(self.characters.encode())
        source.write_text("".join(json.dumps(line) + "\n" for line in lines))
        words = ["--input", source, "--tokenizer", "characters", "--vocab", vocabulary, "--output", output, *options]
        command = [sys.executable, ROOT / "data_tools" / f"{tool}.py", *words, "--overwrite"]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        return output


def documentation() -> str:
    """A text that stays as it is: ten thousand characters, of one byte and of more."""
    lines = (ROOT / "LICENSE").read_text(encoding="ascii").splitlines()
    text = "\n".join(line.strip() for line in lines if line.strip())
    return text.translate({ord('"'): "±", ord("("): "×…", ord(";"): "–", ord(":"): "?"})


def train_character_model(path: Path, text: str | None = None, seed: int = 0) -> Trained:
    """Writes `path`. The same text and seed give the same weights on one machine."""
    text = documentation() if text is None else text
    characters = "".join(sorted(set(text)))
    number_of = {character: number for number, character in enumerate(characters)}
    tokens = torch.tensor([number_of[character] for character in text])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            module = CharacterModel(len(characters) + SPARE_TOKENS)
            _train(module, tokens)
    finally:
        torch.set_num_threads(threads)
    small.save_model(module, path, json.dumps(_card(len(characters) + SPARE_TOKENS)))
    return Trained(module.eval(), characters, path)


def _train(module: CharacterModel, tokens: torch.Tensor) -> None:
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-2)
    places = torch.arange(LENGTH + 1)
    for _ in range(STEPS):
        rows = tokens[torch.randint(0, len(tokens) - LENGTH, (ROWS, 1)) + places]
        logits = module(rows[:, :-1])
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).backward()
        optimizer.step()


def _card(num_tokens: int) -> dict:
    scores = {"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", "sequence", num_tokens]}
    return {
        "tally_card": 1,
        "inputs": [{"name": "input_ids", "dtype": "int64", "shape": ["batch", "sequence"]}],
        "outputs": [scores],
        "fixed_batch": None,
        "weights": "swappable",
        "source": {"model": "tests"},
    }
