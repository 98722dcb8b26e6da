#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes questions with choices as a Tally data set of the task multiple-choice, for language models.

Models with a multiple choice head, such as BertForMultipleChoice, need prepare_multiple_choice.py instead.

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
from pathlib import Path

from tally_data.atomic import check_output
from tally_data.choice_set import write_choice_set
from tally_data.choices import ChoiceRule, read_questions
from tally_data.errors import UsageError, run_tool
from tally_data.options import ToolParser, add_output_options, positive
from tally_data.text_tokenizers import add_tokenizer_options, find_tokenizer


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
    longest = write_choice_set(questions, rows, tokenizer.num_tokens, args.output, args.overwrite)
    print(
        f"wrote {args.output}: {len(questions)} questions, {sum(map(len, rows))} choices, rows of up to {longest} "
        f"tokens of {tokenizer.num_tokens} kinds, {args.output.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    run_tool("prepare_choices", main)
