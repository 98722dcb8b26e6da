# SPDX-License-Identifier: Apache-2.0
"""BERT's tokens of texts, and the bytes each of them stands for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .errors import DataError, EnvironmentFault, reading

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


@dataclass(frozen=True)
class Tokens:
    """Of one text. ids: int32 [n]; spans: int32 [n, 2], begin and end of each token in the text's UTF-8 bytes."""

    ids: np.ndarray
    spans: np.ndarray


def byte_offsets(text: str) -> np.ndarray:
    """int64 [len(text) + 1]: where each character begins in UTF-8, and where the last one ends."""
    points = np.frombuffer(text.encode("utf-32-le"), "<u4")
    sizes = 1 + (points >= 0x80) + (points >= 0x800).astype(np.int64) + (points >= 0x10000)
    return np.concatenate([[0], np.cumsum(sizes)])


class WordPieceTokenizer:
    """As BERT's own: special tokens that stand in a text, such as "[SEP]", are words like others.

    Raises DataError for a vocabulary that is no text file or lacks a special token.
    """

    def __init__(self, vocabulary: Path, lower_case: bool) -> None:
        try:
            from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
        except ImportError as error:
            raise EnvironmentFault("tokenizers is not installed; run jobs/setup.sh") from error
        words = _read_vocabulary(vocabulary)
        self._tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]", max_input_chars_per_word=100))
        self._tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower_case)
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        self.pad, self.cls, self.sep = (words[name] for name in ("[PAD]", "[CLS]", "[SEP]"))

    def ids(self, texts: Sequence[str]) -> list[np.ndarray]:
        """int32 [n] for each text."""
        return [np.array(found.ids, np.int32) for found in self._tokenizer.encode_batch_fast(texts)]

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        return [
            Tokens(np.array(found.ids, np.int32), _byte_spans(text, found.offsets))
            for text, found in zip(texts, self._tokenizer.encode_batch(texts), strict=True)
        ]


def _byte_spans(text: str, offsets: list[tuple[int, int]]) -> np.ndarray:
    """offsets: begin and end of each token, counted in characters."""
    spans = np.array(offsets, np.int64).reshape(-1, 2)
    return (spans if text.isascii() else byte_offsets(text)[spans]).astype(np.int32)


def _read_vocabulary(path: Path) -> dict[str, int]:
    """A word per line; its number is that of the line, from 0."""
    with reading(path):
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise DataError(f"vocabulary '{path}' is not text in UTF-8") from error
    words = {line.strip(): number for number, line in enumerate(lines) if line.strip()}
    for token in SPECIAL_TOKENS:
        if token not in words:
            raise DataError(f"vocabulary '{path}' has no line {token}; expected BERT's vocab.txt, a token per line")
    return words
