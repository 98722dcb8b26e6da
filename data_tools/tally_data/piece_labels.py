# SPDX-License-Identifier: Apache-2.0
"""From the tags of words to labels of the pieces that a tokenizer makes of them, as transformers' run_ner.py does."""

from collections.abc import Sequence

import numpy as np

from .token_rows import IGNORED


def continued_tags(names: Sequence[str] | None, count: int) -> list[int]:
    """For each tag that of the further pieces of its word: I-X for B-X where there is one, else the same."""
    if names is None:
        return list(range(count))
    known = {name: number for number, name in enumerate(names)}
    return [known.get(f"I-{name[2:]}", at) if name.startswith("B-") else at for at, name in enumerate(names)]


def piece_labels(words: Sequence[int | None], tags: Sequence[int], continued: Sequence[int] | None) -> np.ndarray:
    """int64 [n]: the tag at the first piece of each word, IGNORED at special tokens and at words whose tag it is.

    words: of each token the word that it is a piece of; tags: of each word; continued: what further pieces have for
    each tag, None where they are not scored.
    """
    labels, before = np.full(len(words), IGNORED, np.int64), None
    for at, word in enumerate(words):
        if word is not None and word != before:
            labels[at] = tags[word]
        elif word is not None and continued is not None and tags[word] != IGNORED:
            labels[at] = continued[tags[word]]
        before = word
    return labels
