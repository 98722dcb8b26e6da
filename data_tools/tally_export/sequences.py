# SPDX-License-Identifier: Apache-2.0
"""What a model of token sequences takes and returns, and random batches for it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from tally_data.errors import ModelError

from .card import dtype_name
from .verify_export import UNLIKE_ROWS, Batch, Checks, Names, Outputs

# Rows, choices where the model takes several, and tokens of the example that is traced, and of those that must come out
# alike.
EXAMPLE = (4, 3, 16)
PACKAGE_EXAMPLE = (16, 3, 24)
UNLIMITED = 1 << 20  # tokens of a row, where nothing else limits them
OTHERS = ((7, 4, 33), (1, 2, 5), (3, 5, 128))
MOST_CHOICES = 1 << 10  # of a question, where a package is compiled
UNLIKE_CHOICES, UNLIKE_LENGTH = 4, 12


@dataclass(frozen=True)
class SequenceForm:
    """As card.Description, for tokens, which are integers whatever the precision.

    input_names: input_ids, attention_mask and perhaps token_type_ids; longest: tokens of a row, where limited.
    has_choices: a sample is a question with all its choices, each of which is a sequence that gets one score.
    """

    input_names: tuple[str, ...]
    num_tokens: int
    pad: int
    longest: int | None
    has_choices: bool = False
    names: ClassVar[Names] = None  # the forward that it is given returns no more than is wanted

    @property
    def open_sizes(self) -> dict[int, tuple[str, int]]:
        """Dimensions of an input that may vary beside the batch: what they are called, and the most of it."""
        tokens = ("sequence", self.longest or UNLIMITED)
        return {1: ("choices", MOST_CHOICES), 2: tokens} if self.has_choices else {1: tokens}

    def num_classes(self, outputs: Outputs) -> int | None:
        """Of a text or each of its tokens; None where the outputs are as many as the batch has choices."""
        return outputs[0].shape[-1] if len(outputs) == 1 and not self.has_choices else None

    def batch(self, size: int, num_choices: int, length: int) -> Batch:
        """int64 [size, length] each, or [size, num_choices, length] where there are choices.

        Rows get shorter one by one; the first has padding where the length is even.
        """
        rows, length = self._shape(size, num_choices), min(length, self.longest or length)
        count = rows.numel()
        generator = torch.Generator().manual_seed(count)
        ids = torch.randint(0, self.num_tokens, (count, length), generator=generator)
        places, numbers = torch.arange(length)[None, :], torch.arange(count)[:, None]
        lengths = length - (numbers + (length + 1) % 2) * (length // 2) // (count + 1)
        mask = places < lengths
        return self._inputs(rows, ids.where(mask, self.pad), mask, mask & (places >= length // 3))

    def example(self, _dtype: torch.dtype) -> Batch:
        return self.batch(*EXAMPLE)

    def others(self, _dtype: torch.dtype) -> list[Batch]:
        """Batches unlike the example, which an exported model must get right."""
        return [self.batch(*sizes) for sizes in OTHERS]

    def checks(self, dtype: torch.dtype) -> Checks:
        return Checks(self.others(dtype), self._unlike(UNLIKE_ROWS))

    def package_checks(self, fixed_batch: int | None, _dtype: torch.dtype) -> Checks:
        """The first batch is the example that a package is compiled for."""
        sizes = [(fixed_batch or size, *others) for size, *others in (PACKAGE_EXAMPLE, *OTHERS)]
        return Checks([self.batch(*size) for size in sizes], self._unlike(fixed_batch or UNLIKE_ROWS))

    def _unlike(self, size: int) -> list[Batch]:
        """Rows of one token and padding; full rows of the first token or of the last."""
        rows = self._shape(size, UNLIKE_CHOICES)
        count, length = rows.numel(), min(UNLIKE_LENGTH, self.longest or UNLIKE_LENGTH)
        alone = torch.arange(length).expand(count, length) == 0
        full, odd = torch.ones_like(alone), torch.arange(count)[:, None].expand(count, length) % 2 == 1
        last = self.num_tokens - 1
        same = torch.full_like(alone, last // 2, dtype=torch.int64)
        return [
            self._inputs(rows, same.where(alone, self.pad), alone, ~full),
            self._inputs(rows, odd * last, full, full),
        ]

    def _shape(self, size: int, num_choices: int) -> torch.Size:
        """Of a batch, without the tokens."""
        return torch.Size((size, num_choices) if self.has_choices else (size,))

    def _inputs(self, rows: torch.Size, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> Batch:
        found = {"input_ids": ids, "attention_mask": mask.long(), "token_type_ids": types.long()}
        return tuple(found[name].reshape(*rows, -1) for name in self.input_names)

    def card_entries(self, all_outputs: list[Outputs], _dtype: torch.dtype) -> dict[str, Any]:
        """inputs, outputs and, for whole texts, num_classes. all_outputs: the first are those of the example."""
        outputs = all_outputs[0]
        shape = ["batch", *(name for name, _ in self.open_sizes.values())]
        inputs = [{"name": name, "dtype": "int64", "shape": shape} for name in self.input_names]
        if self.has_choices:
            if len(outputs) != 1 or outputs[0].shape != EXAMPLE[:2]:
                raise ModelError(f"{_shapes(outputs)}, expected one score for each choice, {list(EXAMPLE[:2])}")
            return {"inputs": inputs, "outputs": [_entry("logits", outputs[0], shape[:2])]}
        if any(scores.ndim != 2 for scores in outputs) and (len(outputs) == 2 or outputs[0].ndim != 3):
            raise ModelError(f"{_shapes(outputs)}, expected scores of texts or of their tokens")
        whole_texts = len(outputs) == 1 and outputs[0].ndim == 2
        known = 1 if whole_texts else 2  # dimensions that are those of the input
        returned = [
            _entry(name, scores, [*shape[:known], *scores.shape[known:]])
            for name, scores in zip(_names(outputs), outputs, strict=True)
        ]
        entries: dict[str, Any] = {"inputs": inputs, "outputs": returned}
        return entries | ({"num_classes": outputs[0].shape[1]} if whole_texts else {})

    def summary(self, outputs: Outputs) -> str:
        return f"{', '.join(self.input_names)} to {', '.join(_names(outputs))}"


def _names(outputs: Outputs) -> tuple[str, ...]:
    return ("start_logits", "end_logits") if len(outputs) == 2 else ("logits",)


def _entry(name: str, scores: torch.Tensor, shape: list[Any]) -> dict[str, Any]:
    return {"name": name, "kind": "logits", "dtype": dtype_name(scores.dtype), "shape": shape}


def _shapes(outputs: Outputs) -> str:
    return f"the model returns the shapes {', '.join(str(list(scores.shape)) for scores in outputs)}"
