# SPDX-License-Identifier: Apache-2.0
"""A model that answers the questions of one prepared data set as it is told: predictions of others, as logits."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import small
import torch
from ragged import ragged, texts
from torch import nn

HIGH = 10.0  # all other logits are 0
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True)
class StandIn:
    """answers: what comes out of the highest logits, by id; num_found: predictions that are answered to the letter."""

    model: Path
    answers: dict[str, str]
    num_found: int


class Lookup(nn.Module):
    """Knows a row by a hash of its tokens; a row that it does not know has both logits highest at place 0."""

    def __init__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, places: torch.Tensor) -> None:
        """places: int64 [N, 2], where begin and end are highest."""
        super().__init__()
        self.high = HIGH
        generator = torch.Generator().manual_seed(1)
        coefficients = torch.randint(1, 2**62, (input_ids.shape[1],), generator=generator)
        keys, order = (input_ids * attention_mask * coefficients).sum(1).sort(stable=True)
        self.register_buffer("coefficients", coefficients)
        self.register_buffer("keys", keys)
        self.register_buffer("places", places[order])

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        wanted = (input_ids * attention_mask * self.coefficients[: input_ids.shape[1]]).sum(1)
        at = torch.searchsorted(self.keys, wanted).clamp(max=self.keys.shape[0] - 1)  # the first of equal keys
        places = self.places[at] * (self.keys[at] == wanted)[:, None]
        nothing = torch.zeros(input_ids.shape, dtype=torch.float32, device=input_ids.device)
        return nothing.scatter(1, places[:, :1], self.high), nothing.scatter(1, places[:, 1:], self.high)


@dataclass(frozen=True)
class _Question:
    """rows: in order; spans: int [T, 2], the tokens of the context."""

    rows: np.ndarray
    context: bytes
    spans: np.ndarray


class _Set:
    """What the file holds of questions and their rows."""

    def __init__(self, path: Path) -> None:
        with h5py.File(path) as file:
            self.inputs = [torch.from_numpy(file[f"inputs/{name}"][...]).long() for name in INPUTS]
            names = ("unit", "context_begin", "context_end", "token_begin")
            self.unit, self.begin, self.end, self.token_begin = (file[f"targets/{name}"][...] for name in names)
            self.ids = texts(file["units/id"])
            self._paragraph = file["units/paragraph"][...]
            self._contexts = [row.tobytes() for row in ragged(file["paragraphs/text"])]
            self._spans = ragged(file["paragraphs/tokens"])

    def question(self, unit: int) -> _Question:
        paragraph = self._paragraph[unit]
        first, last = np.searchsorted(self.unit, [unit, unit + 1])
        return _Question(np.arange(first, last), self._contexts[paragraph], self._spans[paragraph])

    def find(self, question: _Question, rows: list[int], answer: bytes) -> tuple[int, int, int] | None:
        """The first of the rows with the answer at borders of tokens, and its first and last place there."""
        begins = {begin: token for token, begin in reversed(list(enumerate(question.spans[:, 0].tolist())))}
        ends = {end: token for token, end in enumerate(question.spans[:, 1].tolist())}
        at = question.context.find(answer)
        found = []
        while at >= 0:
            if at in begins and at + len(answer) in ends:
                found.append((begins[at], ends[at + len(answer)]))
            at = question.context.find(answer, at + 1)
        for row in rows:
            shift = int(self.begin[row] - self.token_begin[row])
            for first, last in found:
                if self.begin[row] <= first + shift <= last + shift < self.end[row]:
                    return row, first + shift, last + shift
        return None

    def text(self, question: _Question, row: int, places: np.ndarray) -> str:
        first, last = places - self.begin[row] + self.token_begin[row]
        return question.context[question.spans[first, 0] : question.spans[last, 1]].decode()

    def first_equal_row(self) -> np.ndarray:
        """int64 [N]: for each row the first one with the same tokens."""
        _, first, group = np.unique(self.inputs[0].numpy(), axis=0, return_index=True, return_inverse=True)
        return first[group.reshape(-1)]


def _choose_places(questions: _Set, predictions: dict[str, str]) -> np.ndarray:
    """int64 [N, 2]; rows that are equal to one before have its places."""
    places, owner = np.zeros((len(questions.unit), 2), np.int64), questions.first_equal_row()
    for unit, identity in enumerate(questions.ids):
        question, wanted = questions.question(unit), predictions.get(identity)
        own = [row for row in question.rows.tolist() if owner[row] == row]
        if wanted == "" or not own or places[owner[question.rows]].any():
            continue
        found = questions.find(question, own, wanted.encode()) if wanted else None
        row, first, last = found or (own[0], questions.begin[own[0]], questions.begin[own[0]])
        places[row] = first, last
    return places[owner]


def save_stand_in(data: Path, predictions: dict[str, str], model: Path) -> StandIn:
    """Writes `model`, a TorchScript that answers each question of `data` with its prediction.

    Both logits of a question are highest at the prediction's first place in the first of its rows that holds it at
    borders of tokens; in its other rows at place 0. A question whose prediction is empty (for sets with no_answer = 1)
    has them at place 0 in all rows; one whose prediction no row holds, or that has none, at the first token of its
    context. Of questions with equal rows, the first is answered.
    """
    questions = _Set(data)
    places = _choose_places(questions, predictions)
    answers = {}
    for unit, identity in enumerate(questions.ids):
        question = questions.question(unit)
        high = question.rows[places[question.rows].any(1)].tolist()
        answers[identity] = questions.text(question, high[0], places[high[0]]) if high else ""
    lookup = Lookup(questions.inputs[0], questions.inputs[1], torch.from_numpy(places))
    small.save_model(lookup, model, json.dumps(_card()))
    return StandIn(model, answers, sum(answers[identity] == predictions.get(identity) for identity in answers))


def _card() -> dict[str, Any]:
    shape = ["batch", "sequence"]
    scores = {"kind": "logits", "dtype": "float32", "shape": shape}
    return {
        "tally_card": 1,
        "inputs": [{"name": name, "dtype": "int64", "shape": shape} for name in INPUTS],
        "outputs": [{"name": name} | scores for name in ("start_logits", "end_logits")],
        "fixed_batch": None,
        "weights": "frozen",
        "source": {"model": "tests"},
    }
