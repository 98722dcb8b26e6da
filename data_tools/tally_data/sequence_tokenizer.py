# SPDX-License-Identifier: Apache-2.0
"""From texts, pairs of texts or words to the rows of tokens that a Hugging Face model takes."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .errors import DataError, UsageError
from .model_config import read_model_config
from .sequence_columns import DTYPES
from .text_tokenizers import batches
from .transformers_library import first_line, import_transformers

UNLIMITED = 1 << 30  # tokens; a tokenizer that knows no limit names a much larger number
DEFAULT_LENGTH = 512
PAD_TOKENS = ("[PAD]", "<pad>")


class Row(NamedTuple):
    """inputs: arrays [n]; is_cut: whether what was split is longer.

    Of words: words: of each token the word that it is a piece of, None of special tokens; num_cut: how many words have no
    token in the row because it is cut.
    """

    inputs: dict[str, np.ndarray]
    is_cut: bool
    words: Sequence[int | None] = ()
    num_cut: int = 0


class SequenceTokenizer:
    """path: a tokenizer.json, or a folder that transformers can load a tokenizer from.

    Rows are those of transformers with truncation=True and max_length; None: the tokenizer's own limit.
    of_words: what is to be split are lists of words, as transformers' is_split_into_words has them.
    """

    def __init__(self, path: Path, max_length: int | None, of_words: bool = False) -> None:
        self._path, self._of_words = path, of_words
        self._tokenizer = _load(path, of_words)
        self.max_length = max_length or self._own_limit()
        self._has_types = self._finds_types()
        self.paddings = {"input_ids": self._padding()}
        if self._has_types:
            self.paddings["token_type_ids"] = self._tokenizer.pad_token_type_id

    def rows(self, texts: Sequence[Any], pairs: Sequence[str] | None = None) -> Iterator[Row]:
        """texts: lists of words where it is of_words; pairs: for each text the second one."""
        num_special = self._tokenizer.num_special_tokens_to_add(pairs is not None)
        if self.max_length <= num_special:
            raise UsageError(f"--max-length {self.max_length} leaves no room beside {num_special} special tokens")
        for part in batches([self._size(text) for text in texts]):
            yield from self._encoded(texts[part], None if pairs is None else pairs[part])

    def _size(self, text: Any) -> int:
        return sum(map(len, text)) if self._of_words else len(text)

    def _encoded(self, texts: Sequence[Any], pairs: Sequence[str] | None) -> Iterator[Row]:
        try:
            found = self._tokenizer(
                texts, pairs, truncation=True, max_length=self.max_length, is_split_into_words=self._of_words,
                return_token_type_ids=self._has_types, return_attention_mask=False, verbose=False,
            )  # fmt: skip
        except Exception as error:  # the libraries have no error of their own for texts that they cannot split
            raise DataError(f"the tokenizer '{self._path}' cannot split a text: {first_line(error)}") from error
        for at in range(len(texts)):
            inputs = {name: np.array(found[name][at], DTYPES[name]) for name in self.paddings}
            encoding = found.encodings[at] if found.encodings else None  # transformers' slow tokenizers have none
            if self._of_words:
                yield Row(inputs, bool(encoding.overflowing), encoding.word_ids, _num_cut(encoding))
            else:
                yield Row(inputs, encoding is not None and bool(encoding.overflowing))

    def _own_limit(self) -> int:
        limit = self._tokenizer.model_max_length
        if limit < UNLIMITED:
            return int(limit)
        print(f"note: '{self._path}' names no longest row: rows have at most {DEFAULT_LENGTH} tokens (--max-length)")
        return DEFAULT_LENGTH

    def _finds_types(self) -> bool:
        """Of a tokenizer.json alone, whether it gives the tokens of a second text another type."""
        if self._path.is_dir():
            return "token_type_ids" in self._tokenizer.model_input_names
        return any(self._tokenizer.backend_tokenizer.encode("a", "a").type_ids)

    def _padding(self) -> int:
        """The tokenizer's, else the model's; models find by it where rows end."""
        if (pad := self._tokenizer.pad_token_id) is not None:
            return int(pad)
        vocabulary = self._tokenizer.get_vocab()
        named = next((vocabulary[name] for name in PAD_TOKENS if name in vocabulary), None)
        folder = self._path if self._path.is_dir() else self._path.parent
        if named is None and (folder / "config.json").is_file():
            named = read_model_config(folder).pad
        if named is None:
            print(f"note: '{self._path}' has no token for padding: rows are filled up with token 0")
        return named or 0


def _num_cut(encoding: Any) -> int:
    """Words that have tokens beyond the row alone."""
    beyond = set(chain.from_iterable(piece.word_ids for piece in encoding.overflowing))
    return len(beyond - set(encoding.word_ids) - {None})


def _load(path: Path, of_words: bool) -> Any:
    if not path.exists():
        raise DataError(f"the tokenizer '{path}' does not exist")
    transformers = import_transformers()
    tokenizer = _loaded(transformers, path)
    if of_words:
        if not tokenizer.is_fast:
            raise UsageError(f"the tokenizer '{path}' does not tell the pieces of a word; give its tokenizer.json")
        _add_prefix_space(tokenizer.backend_tokenizer)
    return tokenizer


def _add_prefix_space(tokenizer: Any) -> None:
    """Without it one such as GPT-2's takes a word that is given alone for the middle of a word."""
    splitter = tokenizer.pre_tokenizer
    if type(splitter).__name__ == "ByteLevel":
        splitter.add_prefix_space = True
        tokenizer.pre_tokenizer = splitter


def _loaded(transformers: Any, path: Path) -> Any:
    try:
        if path.is_file():
            return transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
        return transformers.AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library has no error of its own for this, and reads what anyone wrote
        expected = "a tokenizer.json" if path.is_file() else "a folder with a tokenizer that transformers knows"
        raise DataError(f"'{path}' is not {expected}: {first_line(error)}") from error
