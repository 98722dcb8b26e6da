# SPDX-License-Identifier: Apache-2.0
"""Writes documents, whose windows are rows of tokens, as a data set of the task language-model."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .progress import progress_bar
from .set_file import SetFile
from .token_rows import IGNORED, TokenRow, TokenRowWriter

ROWS_PER_PIECE = 1024


class DocumentSize(NamedTuple):
    """A document's name, and by what its losses are divided."""

    identity: str
    num_bytes: int
    num_words: int


class Extent(NamedTuple):
    """longest: how many tokens the longest row has."""

    num_rows: int
    num_scored: int
    longest: int


def write_document_set(
    documents: Sequence[DocumentSize], rows: Iterator[tuple[int, TokenRow]], extent: Extent, num_tokens: int,
    output: Path, overwrite: bool,
) -> None:  # fmt: skip
    """rows: with their document's number, ascending; num_tokens: of the vocabulary."""
    with SetFile(output, overwrite=overwrite) as file, progress_bar(extent.num_rows, "row", output.name) as bar:
        file.set_attribute("task", "language-model")
        file.set_attribute("num_classes", num_tokens)
        file.set_attribute("ignore_index", IGNORED)
        _write_units(file, documents)
        out = TokenRowWriter(file, extent.num_rows, extent.longest)
        while piece := list(islice(rows, ROWS_PER_PIECE)):
            units, token_rows = zip(*piece, strict=True)
            out.append(token_rows, units)
            bar.update(len(piece))


def _write_units(file: SetFile, documents: Sequence[DocumentSize]) -> None:
    file.add_ragged("/units/id", [document.identity.encode() for document in documents])
    num_bytes = np.array([document.num_bytes for document in documents], np.int64)
    num_words = np.array([document.num_words for document in documents], np.int64)
    file.add_column("/units/bytes", "int64", len(documents)).append(num_bytes)
    file.add_column("/units/words", "int64", len(documents)).append(num_words)
