#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes documents as a Tally data set of the task language-model: perplexity, bits per byte.

--input is a folder (each .txt file in it is a document), a file of JSON lines {"id": ..., "text": ...} (named .jsonl,
.ndjson or .json), or one text. --tokenizer is the tokenizer.json of a Hugging Face model, or `bytes` (256 tokens), or
`characters`; it adds no special tokens.

Each document is cut into windows of its own, as Hugging Face's guide to the perplexity of fixed-length models does:
window i begins at token i * stride, and scores those of its tokens that no window before it has scored. --stride is
--max-length unless given: windows are then disjoint, and the model sees the token before each. With a smaller one each
token has more context, and more is computed.

Without --prefix-token the first token of a document is context only. With it that token stands in front, so that the
first one is scored, too; with --full-last-window, too, windows are those of the language model evaluation harness
(rolling log likelihoods). A document without a token to score has a row all the same, of which nothing is scored.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tally_data.atomic import check_output
from tally_data.document_set import DocumentSize, Extent, write_document_set
from tally_data.documents import Document, read_documents
from tally_data.errors import DataError, UsageError, run_tool
from tally_data.options import ToolParser, add_output_options, positive
from tally_data.sliding_windows import SlidingWindowRule, Window, empty_row, make_row
from tally_data.text_tokenizers import TextTokenizer, add_tokenizer_options, find_tokenizer
from tally_data.token_rows import TokenRow



@dataclass(frozen=True)
class TextSet:
    """tokens: of each document. Windows are not kept, for with a small stride they are as many as the tokens."""

    documents: list[Document]
    tokenizer: TextTokenizer
    tokens: list[np.ndarray]
    rule: SlidingWindowRule

    def windows(self) -> Iterator[tuple[int, Window | None]]:
        """With the document's number, row by row; None for one without a token to score."""
        for unit, tokens in enumerate(self.tokens):
            window = None
            for window in self.rule.windows(len(tokens)):
                yield unit, window
            if window is None:
                yield unit, None

    def rows(self) -> Iterator[tuple[int, TokenRow]]:
        """With the document's number."""
        prefix = self.tokenizer.prefix
        for unit, window in self.windows():
            tokens = self.tokens[unit]
            yield unit, empty_row(tokens, prefix) if window is None else make_row(tokens, prefix, window)


def extent_of(source: TextSet) -> Extent:
    num_rows = num_scored = longest = 0
    for _, window in source.windows():
        num_rows += 1
        if window is not None:
            num_scored += window.num_scored
            longest = max(longest, window.num_seen)
    return Extent(num_rows, num_scored, longest)


def make_text_set(args: argparse.Namespace) -> TextSet:
    documents = read_documents(args.input, args.id_field, args.text_field)
    texts = [document.text for document in documents]
    tokenizer = find_tokenizer(args, texts)
    stride = args.stride or args.max_length
    rule = SlidingWindowRule(args.max_length, stride, tokenizer.prefix is not None, args.full_last_window)
    return TextSet(documents, tokenizer, tokenizer.ids(texts), rule)


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    parser.add_argument("--input", type=Path, required=True, metavar="PATH", help="folder, JSON lines, or a text")
    parser.add_argument("--id-field", default="id", metavar="NAME", help="of JSON lines; else the line counts")
    parser.add_argument("--text-field", default="text", metavar="NAME", help="of JSON lines, default %(default)s")
    add_tokenizer_options(parser)
    parser.add_argument(
        "--prefix-token", metavar="TOKEN",
        help="stands in front of each document, such as <|endoftext|>; with bytes and characters a single one is "
        "itself, and any other name is a new token behind the others",
    )  # fmt: skip
    parser.add_argument(
        "--max-length", type=positive, default=1024, metavar="N", help="tokens that the model sees, default %(default)s"
    )
    parser.add_argument(
        "--stride", type=positive, metavar="N", help="tokens between the begins of windows, default: --max-length"
    )
    parser.add_argument(
        "--full-last-window", action="store_true", help="the last window of a document has as much context as fits"
    )
    add_output_options(parser, "the data set file (.h5)")
    return parser


def main() -> None:
    args = make_parser().parse_args()
    if args.stride is not None and args.stride > args.max_length:
        raise UsageError(f"--stride {args.stride} would skip tokens: give at most --max-length {args.max_length}")
    check_output(args.output, args.overwrite)
    source = make_text_set(args)
    extent = extent_of(source)
    if extent.num_scored == 0:
        raise DataError(f"'{args.input}' holds no token to score")
    sizes = [DocumentSize(one.identity, len(one.text.encode()), one.num_words) for one in source.documents]
    write_document_set(sizes, source.rows(), extent, source.tokenizer.num_tokens, args.output, args.overwrite)
    num_tokens = sum(map(len, source.tokens))
    print(
        f"wrote {args.output}: {len(source.documents)} documents, {num_tokens} tokens of {source.tokenizer.num_tokens} "
        f"kinds, {extent.num_scored} scored, {extent.num_rows} rows of up to {extent.longest} tokens, "
        f"{args.output.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    run_tool("prepare_text", main)
