# SPDX-License-Identifier: Apache-2.0
"""From texts to tokens, for language models: a tokenizer.json, bytes or characters."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from .errors import DataError, EnvironmentFault, UsageError, reading

TEXTS_PER_BATCH = 512
CHARACTERS_PER_BATCH = 1_000_000


class TextTokenizer(Protocol):
    """num_tokens: of the vocabulary, with the prefix; prefix: the token that may stand in front of a text."""

    num_tokens: int
    prefix: int | None

    def ids(self, texts: Sequence[str]) -> list[np.ndarray]:
        """int32 [n] for each text; no special token is added."""
        ...


def batches(sizes: Sequence[int]) -> Iterator[slice]:
    """Of texts with so many characters, a text at least: the tokenizers library holds some hundred bytes for each token."""
    first = num_characters = 0
    for at, size in enumerate(sizes):
        if at > first and (at - first == TEXTS_PER_BATCH or num_characters + size > CHARACTERS_PER_BATCH):
            yield slice(first, at)
            first, num_characters = at, 0
        num_characters += size
    if sizes:
        yield slice(first, len(sizes))


class _FileTokenizer:
    """A tokenizer.json of Hugging Face's. Special tokens that stand in a text are found, as its own library does."""

    def __init__(self, path: Path, prefix: str | None) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise EnvironmentFault("tokenizers is not installed; run jobs/setup.sh") from error
        with reading(path):
            content = path.read_bytes()
        try:
            self._tokenizer = Tokenizer.from_buffer(content)
        except Exception as error:
            raise DataError(f"'{path}' is no tokenizer.json: {' '.join(str(error).split())}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.num_tokens = 1 + max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        self.prefix = None if prefix is None else self._tokenizer.token_to_id(prefix)
        if prefix is not None and self.prefix is None:
            raise UsageError(f"--prefix-token: '{path}' has no token '{prefix}'")

    def ids(self, texts: Sequence[str]) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        for batch in batches(list(map(len, texts))):
            encoded = self._tokenizer.encode_batch_fast(texts[batch], add_special_tokens=False)
            found += [np.array(one.ids, np.int32) for one in encoded]
        return found


class _UnitTokenizer:
    """A token for each byte or character. A prefix of more than one of them is a new token, behind the others."""

    def __init__(self, num_units: int, prefix: str | None) -> None:
        self.num_tokens, self.prefix = num_units, None
        if prefix is not None:
            own = self.ids([prefix])[0] if len(prefix) == 1 else []
            self.prefix = int(own[0]) if len(own) == 1 else num_units
            self.num_tokens = max(num_units, self.prefix + 1)

    def ids(self, texts: Sequence[str]) -> list[np.ndarray]:
        raise NotImplementedError


class _ByteTokenizer(_UnitTokenizer):
    def __init__(self, prefix: str | None) -> None:
        super().__init__(256, prefix)

    def ids(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.frombuffer(text.encode(), np.uint8).astype(np.int32) for text in texts]


class _CharacterTokenizer(_UnitTokenizer):
    """characters: in the order of their numbers."""

    def __init__(self, characters: Sequence[str], prefix: str | None, origin: str) -> None:
        points = _points("".join(characters))
        self._order = np.argsort(points)
        self._sorted, self._origin = points[self._order], origin
        super().__init__(len(points), prefix)

    def ids(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [self._ids_of(_points(text)) for text in texts]

    def _ids_of(self, points: np.ndarray) -> np.ndarray:
        at = np.searchsorted(self._sorted, points).clip(max=len(self._sorted) - 1)
        unknown = points[self._sorted[at] != points]
        if len(unknown):
            raise DataError(f"the character {chr(unknown[0])!r} (U+{unknown[0]:04X}) is not in {self._origin}")
        return self._order[at].astype(np.int32)


def _points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), "<u4")


def read_text(path: Path) -> str:
    """Byte by byte: ends of lines stay what they are."""
    with reading(path):
        try:
            return path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise DataError(f"'{path}' is not text in UTF-8") from error


def _character_tokenizer(args: argparse.Namespace, texts: Iterable[str]) -> _CharacterTokenizer:
    if args.vocab is None:
        characters: Sequence[str] = sorted(set().union(*texts))
        origin = "the texts"
    else:
        characters, origin = read_text(args.vocab), f"the vocabulary '{args.vocab}'"
        if len(set(characters)) != len(characters):
            twice = next(one for at, one in enumerate(characters) if one in characters[:at])
            raise DataError(f"{origin} has the character {twice!r} twice, expected each once")
    if not characters:
        raise DataError(f"{origin} hold{'s' * (args.vocab is not None)} no character")
    if args.vocab is None:
        print(
            f"note: {len(characters)} kinds of characters, numbered as these texts have them; other texts number them "
            "otherwise, unless both are given the same --vocab"
        )
    return _CharacterTokenizer(characters, args.prefix_token, origin)


def add_tokenizer_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tokenizer", required=True, metavar="NAME", help="the model's tokenizer.json or its folder, or bytes, or characters"
    )
    parser.add_argument(
        "--vocab", type=Path, metavar="FILE",
        help="for characters: a text of each character once, in the order of their numbers; default: those of the "
        "texts, sorted",
    )  # fmt: skip


def find_tokenizer(args: argparse.Namespace, texts: Iterable[str]) -> TextTokenizer:
    """Of --tokenizer, --vocab and --prefix-token; texts: what a vocabulary of characters is made of."""
    if args.vocab is not None and args.tokenizer != "characters":
        raise UsageError("--vocab is for --tokenizer characters")
    if args.prefix_token == "":
        raise UsageError("--prefix-token is empty")
    if args.tokenizer == "bytes":
        return _ByteTokenizer(args.prefix_token)
    if args.tokenizer == "characters":
        return _character_tokenizer(args, texts)
    path = Path(args.tokenizer)
    return _FileTokenizer(path / "tokenizer.json" if path.is_dir() else path, args.prefix_token)
