# SPDX-License-Identifier: Apache-2.0
"""What a model of token sequences takes and returns, and random batches for it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from tally_data.errors import ModelError

from .card import dtype_name
from .verify_export import UNLIKE_ROWS, Batch, Checks, Names, Outputs

# Rows and tokens of the example that is traced, and of those that must come out alike.
EXAMPLE = (4, 16)
PACKAGE_EXAMPLE = (16, 24)
UNLIMITED = 1 << 20  # tokens of a row, where nothing else limits them
OTHERS = ((7, 33), (1, 5), (3, 128))
UNLIKE_LENGTH = 12


@dataclass(frozen=True)
class SequenceForm:
    """As card.Description, for tokens, which are integers whatever the precision.

    input_names: input_ids, attention_mask and perhaps token_type_ids; longest: tokens of a row, where limited.
    """

    input_names: tuple[str, ...]
    num_tokens: int
    pad: int
    longest: int | None
    names: ClassVar[Names] = None  # the forward that it is given returns no more than is wanted

    def batch(self, size: int, length: int) -> Batch:
        """int64 [size, length] each. Rows get shorter one by one; the first has padding where the length is even."""
        length = min(length, self.longest or length)
        generator = torch.Generator().manual_seed(size)
        ids = torch.randint(0, self.num_tokens, (size, length), generator=generator)
        places, rows = torch.arange(length)[None, :], torch.arange(size)[:, None]
        lengths = length - (rows + (length + 1) % 2) * (length // 2) // (size + 1)
        mask = places < lengths
        return self._inputs(ids.where(mask, self.pad), mask, mask & (places >= length // 3))

    def example(self, _dtype: torch.dtype) -> Batch:
        return self.batch(*EXAMPLE)

    def others(self, _dtype: torch.dtype) -> list[Batch]:
        """Batches unlike the example, which an exported model must get right."""
        return [self.batch(*sizes) for sizes in OTHERS]

    def checks(self, dtype: torch.dtype) -> Checks:
        return Checks(self.others(dtype), self._unlike(UNLIKE_ROWS))

    def package_checks(self, fixed_batch: int | None, _dtype: torch.dtype) -> Checks:
        """The first batch is the example that a package is compiled for."""
        sizes = [(fixed_batch or size, length) for size, length in (PACKAGE_EXAMPLE, *OTHERS)]
        return Checks([self.batch(*size) for size in sizes], self._unlike(fixed_batch or UNLIKE_ROWS))

    def _unlike(self, size: int) -> list[Batch]:
        """Rows of one token and padding; full rows of the first token or of the last."""
        length = min(UNLIKE_LENGTH, self.longest or UNLIKE_LENGTH)
        alone = torch.arange(length).expand(size, length) == 0
        full, odd = torch.ones_like(alone), torch.arange(size)[:, None].expand(size, length) % 2 == 1
        last = self.num_tokens - 1
        return [
            self._inputs(torch.full_like(alone, last // 2, dtype=torch.int64).where(alone, self.pad), alone, ~full),
            self._inputs(odd * last, full, full),
        ]

    def _inputs(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> Batch:
        found = {"input_ids": ids, "attention_mask": mask.long(), "token_type_ids": types.long()}
        return tuple(found[name] for name in self.input_names)

    def card_entries(self, all_outputs: list[Outputs], _dtype: torch.dtype) -> dict[str, Any]:
        """inputs, outputs and, for whole texts, num_classes. all_outputs: the first are those of the example."""
        outputs = all_outputs[0]
        inputs = [{"name": name, "dtype": "int64", "shape": ["batch", "sequence"]} for name in self.input_names]
        if any(scores.ndim != 2 for scores in outputs) and (len(outputs) == 2 or outputs[0].ndim != 3):
            shapes = ", ".join(str(list(scores.shape)) for scores in outputs)
            raise ModelError(f"the model returns the shapes {shapes}, expected scores of texts or of their tokens")
        whole_texts = len(outputs) == 1 and outputs[0].ndim == 2
        returned = [
            {
                "name": name,
                "kind": "logits",
                "dtype": dtype_name(scores.dtype),
                "shape": ["batch", *([] if whole_texts else ["sequence"]), *scores.shape[1 if whole_texts else 2 :]],
            }
            for name, scores in zip(_names(outputs), outputs, strict=True)
        ]
        entries: dict[str, Any] = {"inputs": inputs, "outputs": returned}
        return entries | ({"num_classes": outputs[0].shape[1]} if whole_texts else {})

    def summary(self, outputs: Outputs) -> str:
        return f"{', '.join(self.input_names)} to {', '.join(_names(outputs))}"


def _names(outputs: Outputs) -> tuple[str, ...]:
    return ("start_logits", "end_logits") if len(outputs) == 2 else ("logits",)
