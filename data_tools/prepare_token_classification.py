#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes sentences whose words have tags as a Tally data set: named entities, parts of speech.

--input is a CoNLL file (a word in each line, in columns, and a blank line between sentences; .conllu: that of Universal
Dependencies), JSON lines {"tokens": [...], "tags": [...]} (.jsonl, .ndjson, .json), a .parquet file, or the folder of a
Hugging Face data set (with --split where it has several parts); the last two need pyarrow. --tokenizer is the model's
tokenizer.json, or the folder that transformers loads its tokenizer from.

Words are split into pieces, and labels put to them, as transformers' run_ner.py does: the first piece of a word has its
tag; its other pieces, and special tokens, are not scored. With --label-all-pieces they have the tag, too, I- for B-.

Tags are names or numbers. Names become the numbers that the model knows them by: its config.json says them (--like),
or a file does (--class-names). Where the data set names its numbers, they are renumbered by name in the same way.
"""

import argparse
from itertools import islice
from pathlib import Path

import numpy as np

from tally_data.atomic import check_output
from tally_data.class_numbers import ClassNumbers, add_class_options
from tally_data.errors import DataError, UsageError, run_tool
from tally_data.model_config import folder_of
from tally_data.options import ToolParser, add_output_options, positive
from tally_data.piece_labels import continued_tags, piece_labels
from tally_data.progress import progress_bar
from tally_data.records import add_record_options
from tally_data.sequence_columns import SequenceColumns, filled_up
from tally_data.sequence_tokenizer import Row, SequenceTokenizer
from tally_data.tagged_sentences import Sentence, Tagged, add_sentence_options, read_tagged
from tally_data.token_rows import IGNORED
from tally_data.writer import DataSetWriter

ROWS_PER_PIECE = 1024
TASK = "token-classification"


def read_rows(tagged: Tagged, tokenizer: SequenceTokenizer, path: Path) -> list[Row]:
    rows = []
    with progress_bar(len(tagged.sentences), "sentence", path.name) as bar:
        for row in tokenizer.rows([sentence.words for sentence in tagged.sentences]):
            if len(row.inputs["input_ids"]) == 0:
                raise DataError(f"'{path}', {tagged.sentences[len(rows)].place}: the sentence holds no token")
            rows.append(row)
            bar.update()
    return rows


def numbered(sentence: Sentence, tags: ClassNumbers) -> list[int]:
    return [IGNORED if tag is None else tags.numbers[tag] for tag in sentence.tags]


def print_losses(tagged: Tagged, rows: list[Row], max_length: int) -> None:
    """Notes on words that are not scored because no token of theirs is in a row."""
    if num_cut := sum(row.is_cut for row in rows):
        num_lost = sum(row.num_cut for row in rows)
        print(
            f"note: {num_cut} of {len(rows)} sentences were longer than {max_length} tokens and are cut: {num_lost} words are "
            "lost and not scored"
        )
    num_kept = sum(len(set(row.words) - {None}) + row.num_cut for row in rows)
    if num_empty := sum(len(sentence.words) for sentence in tagged.sentences) - num_kept:
        print(f"note: the tokenizer makes no token of {num_empty} words: they are not scored")


def write_token_set(
    args: argparse.Namespace, tagged: Tagged, rows: list[Row], labels: list[np.ndarray], tokenizer: SequenceTokenizer
) -> int:
    """Returns how many tokens the longest row has."""
    longest, tags = max(map(len, labels)), tagged.tags
    with DataSetWriter(
        args.output, task=TASK, num_classes=tags.count, num_samples=len(rows), class_names=tags.names,
        ignore_index=IGNORED, overwrite=args.overwrite,
    ) as out:  # fmt: skip
        columns = SequenceColumns(out, len(rows), longest, tokenizer.paddings)
        column = out.add_token_labels(length=longest)
        out.add_names(sentence.name for sentence in tagged.sentences)
        remaining = zip(rows, labels, strict=True)
        while piece := list(islice(remaining, ROWS_PER_PIECE)):
            columns.append([row.inputs for row, _ in piece])
            column.append(filled_up([label for _, label in piece], longest, IGNORED))
    return longest


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    add_record_options(parser, "a CoNLL file, JSON lines, a parquet file or a folder")
    add_sentence_options(parser)
    parser.add_argument("--tokenizer", type=Path, metavar="PATH", help="tokenizer.json or a folder; default: that of --like")
    add_class_options(parser)
    parser.add_argument("--label-all-pieces", action="store_true", help="score all pieces of a word, not only the first")
    parser.add_argument(
        "--max-length", type=positive, metavar="N", help="tokens of a row; default: as many as the tokenizer says"
    )
    add_output_options(parser, "the data set file (.h5)")
    return parser


def main() -> None:
    args = make_parser().parse_args()
    if args.tokenizer is None and args.like is None:
        raise UsageError("--tokenizer is missing; see --help")
    check_output(args.output, args.overwrite)
    tagged = read_tagged(args)
    tokenizer = SequenceTokenizer(args.tokenizer or folder_of(args.like), args.max_length, of_words=True)
    rows = read_rows(tagged, tokenizer, args.input)
    continued = continued_tags(tagged.tags.names, tagged.tags.count) if args.label_all_pieces else None
    labels = [
        piece_labels(row.words, numbered(sentence, tagged.tags), continued)
        for row, sentence in zip(rows, tagged.sentences, strict=True)
    ]
    num_scored = sum(int((label != IGNORED).sum()) for label in labels)
    if num_scored == 0:
        raise DataError(f"'{args.input}' has no word to score")
    longest = write_token_set(args, tagged, rows, labels, tokenizer)
    print_losses(tagged, rows, tokenizer.max_length)
    print(
        f"wrote {args.output}: {len(rows)} sentences of up to {longest} tokens, {num_scored} places to score, "
        f"{tagged.tags.count} tags, {args.output.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    run_tool("prepare_token_classification", main)
