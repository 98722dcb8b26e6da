# SPDX-License-Identifier: Apache-2.0
"""Windows that roll over a document, so that a language model scores each of its tokens once."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .token_rows import IGNORED, TokenRow

PREFIX_PLACE = -1  # of the prefix token, before the document's first one


class Window(NamedTuple):
    """The model sees tokens begin to before end - 1; those from first_scored to before end are scored."""

    begin: int
    first_scored: int
    end: int

    @property
    def num_seen(self) -> int:
        return self.end - 1 - self.begin

    @property
    def num_scored(self) -> int:
        return self.end - self.first_scored


@dataclass(frozen=True)
class SlidingWindowRule:
    """As in Hugging Face's "Perplexity of fixed-length models": window i holds the tokens from i * stride on.

    length: tokens that the model sees at once; stride: at most that. A window begins a token earlier where its first
    token is to be scored, too. full_last: the last window begins as early as its length lets it.
    """

    length: int
    stride: int
    has_prefix: bool
    full_last: bool

    def windows(self, num_tokens: int) -> Iterator[Window]:
        """None where there is nothing to score: the first token is scored with a prefix only."""
        first_place = PREFIX_PLACE if self.has_prefix else 0
        scored = first_place + 1
        for begin in range(0, num_tokens, self.stride):
            end = min(begin + self.length, num_tokens)
            seen_from = begin if begin < scored else begin - 1
            if self.full_last and end == num_tokens:
                seen_from = max(first_place, end - 1 - self.length)
            if scored < end:
                yield Window(seen_from, scored, end)
                scored = end
            if end == num_tokens:
                return


def make_row(tokens: np.ndarray, prefix: int | None, window: Window) -> TokenRow:
    """tokens: int32 [n], of the document."""
    seen = tokens[max(window.begin, 0) : window.end - 1]
    labels = tokens[window.begin + 1 : window.end].copy()
    labels[: window.first_scored - window.begin - 1] = IGNORED
    if window.begin == PREFIX_PLACE:
        seen = np.concatenate([np.array([prefix], np.int32), seen])
    return TokenRow(seen, labels)


def empty_row(tokens: np.ndarray, prefix: int | None) -> TokenRow:
    """Of a document without a token to score: one token, for there must be a row."""
    first = [prefix] if prefix is not None else [*tokens[:1], 0]
    return TokenRow(np.array(first[:1], np.int32), np.array([IGNORED], np.int32))
