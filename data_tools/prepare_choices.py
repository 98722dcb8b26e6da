#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes questions with choices as a Tally data set of the task multiple-choice, for language models.

--input has a question in each line, as JSON: {"id": ..., "question": ..., "choices": [...], "gold": 0}, where gold
counts from 0. --tokenizer is the tokenizer.json of a Hugging Face model, or `bytes` (256 tokens), or `characters`.

A row is the question, --delimiter and one choice, as the language model evaluation harness makes them: question and
choice are encoded together, and those tokens are scored that stand behind as many as the question alone has; before
them the model sees the question encoded alone. White space at the question's end goes to the choice. A row longer than
--max-length is cut at its left end.

--prefix-token stands before the choice where the question is empty. For a tokenizer that puts a token in front of every
text by itself (Llama's <s>) give --prefix-always, too: special tokens are not added otherwise.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tally_data.atomic import check_output
from tally_data.choices import ChoiceRule, Question, read_questions
from tally_data.errors import UsageError, run_tool
from tally_data.options import ToolParser, add_output_options, positive
from tally_data.progress import progress_bar
from tally_data.set_file import SetFile
from tally_data.text_tokenizers import TextTokenizer, add_tokenizer_options, find_tokenizer
from tally_data.token_rows import IGNORED, TokenRow, TokenRowWriter

QUESTIONS_PER_PIECE = 512


def write_units(file: SetFile, questions: Sequence[Question]) -> None:
    first_choice = np.cumsum([0, *(len(question.choices) for question in questions)], dtype=np.int64)
    gold = np.array([question.gold for question in questions], np.int64)
    file.add_ragged("/units/id", [question.identity.encode() for question in questions])
    file.add_ragged("/units/question", [question.text.encode() for question in questions])
    file.add_column("/units/gold", "int64", len(gold)).append(gold)
    file.add_column("/units/first_choice", "int64", len(first_choice)).append(first_choice)
    file.add_ragged("/choices/text", [choice.encode() for question in questions for choice in question.choices])
    choice = np.concatenate([np.arange(len(question.choices), dtype=np.int32) for question in questions])
    file.add_column("/targets/choice", "int32", len(choice)).append(choice)


def write_choice_set(
    questions: list[Question], rows: list[list[TokenRow]], tokenizer: TextTokenizer, output: Path, overwrite: bool
) -> int:
    """rows: of each question. Returns how many tokens the longest has."""
    longest = max(len(row.inputs) for of_question in rows for row in of_question)
    with (
        SetFile(output, overwrite=overwrite) as file,
        progress_bar(len(questions), "question", output.name) as bar,
    ):
        file.set_attribute("task", "multiple-choice")
        file.set_attribute("num_classes", tokenizer.num_tokens)
        file.set_attribute("ignore_index", IGNORED)
        write_units(file, questions)
        out = TokenRowWriter(file, sum(map(len, rows)), longest)
        for first in range(0, len(rows), QUESTIONS_PER_PIECE):
            piece = rows[first : first + QUESTIONS_PER_PIECE]
            units = [unit for unit, found in enumerate(piece, start=first) for _ in found]
            out.append([row for found in piece for row in found], units)
            bar.update(len(piece))
    return longest


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help="JSON lines")
    parser.add_argument("--id-field", default="id", metavar="NAME", help="default id; where it is missing, lines count")
    for name in ("question", "choices", "gold"):
        parser.add_argument(f"--{name}-field", default=name, metavar="NAME", help="default %(default)s")
    parser.add_argument("--delimiter", default=" ", metavar="TEXT", help="before each choice, default a blank")
    add_tokenizer_options(parser)
    parser.add_argument(
        "--prefix-token", metavar="TOKEN",
        help="stands before the choices of empty questions, such as <|endoftext|>; with bytes and characters a single "
        "one is itself, and any other name is a new token behind the others",
    )  # fmt: skip
    parser.add_argument("--prefix-always", action="store_true", help="it stands in front of every question")
    parser.add_argument(
        "--max-length", type=positive, default=1024, metavar="N", help="tokens that the model sees, default %(default)s"
    )
    add_output_options(parser, "the data set file (.h5)")
    return parser


def main() -> None:
    args = make_parser().parse_args()
    if args.prefix_always and args.prefix_token is None:
        raise UsageError("--prefix-always needs --prefix-token")
    check_output(args.output, args.overwrite)
    questions = read_questions(args)
    texts = [text for question in questions for text in (question.text, *question.choices)]
    tokenizer = find_tokenizer(args, [*texts, args.delimiter])
    rule = ChoiceRule(args.input, tokenizer, args.delimiter, args.max_length, args.prefix_always)
    rows = rule.rows(questions)
    longest = write_choice_set(questions, rows, tokenizer, args.output, args.overwrite)
    print(
        f"wrote {args.output}: {len(questions)} questions, {sum(map(len, rows))} choices, rows of up to {longest} "
        f"tokens of {tokenizer.num_tokens} kinds, {args.output.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    run_tool("prepare_choices", main)
