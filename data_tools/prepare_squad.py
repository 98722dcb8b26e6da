#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a SQuAD file (v1.1 or v2.0, JSON) as a Tally data set of the task question-answering.

--vocab is the vocab.txt of the BERT model that is to answer: a token per line. Texts are cut into tokens as BERT does,
in lower case unless --cased. A row is `[CLS] question [SEP] context [SEP]`; a context that is too long for one row
stands in several, which overlap by --stride tokens. Questions and their answers keep the order of the file.
"""

import argparse
from pathlib import Path

from tally_data.atomic import check_output
from tally_data.errors import DataError, run_tool
from tally_data.options import ToolParser, add_output_options, not_negative, positive
from tally_data.progress import progress_bar
from tally_data.question_set import QuestionSet, write_question_set
from tally_data.squad import Squad, read_squad
from tally_data.windows import WindowRule
from tally_data.wordpiece import WordPieceTokenizer


def make_question_set(args: argparse.Namespace, squad: Squad, tokenizer: WordPieceTokenizer) -> QuestionSet:
    contexts = tokenizer.tokens([paragraph.context for paragraph in squad.paragraphs])
    for paragraph, tokens in zip(squad.paragraphs, contexts, strict=True):
        if len(tokens.ids) == 0:
            raise DataError(f"'{args.input}': the context of {paragraph.place} holds no token")
    rule = WindowRule(args.max_length, args.stride)
    questions, windows = [], []
    for paragraph, tokens in zip(squad.paragraphs, contexts, strict=True):
        for ids in tokenizer.ids([question.text for question in paragraph.questions]):
            questions.append(ids[: args.max_question_length])
            windows.append(rule.windows(len(questions[-1]), len(tokens.ids)))
    return QuestionSet(squad, tokenizer, rule, contexts, questions, windows)


def main() -> None:
    parser = ToolParser(__doc__)
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help="such as dev-v1.1.json")
    parser.add_argument("--vocab", type=Path, required=True, metavar="FILE", help="the model's vocab.txt")
    parser.add_argument("--cased", action="store_true", help="for a vocabulary with upper-case letters")
    parser.add_argument(
        "--max-length", type=positive, default=384, metavar="N", help="tokens of a row, default %(default)s"
    )
    parser.add_argument(
        "--stride", type=not_negative, default=128, metavar="N",
        help="tokens of the context that two rows share, default %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--max-question-length", type=positive, default=64, metavar="N",
        help="tokens of a question; more are cut off, default %(default)s",
    )  # fmt: skip
    add_output_options(parser, "the data set file (.h5)")
    args = parser.parse_args()
    check_output(args.output, args.overwrite)
    squad = read_squad(args.input)
    source = make_question_set(args, squad, WordPieceTokenizer(args.vocab, lower_case=not args.cased))
    with progress_bar(squad.num_questions, "question", args.output.name) as bar:
        write_question_set(source, args.output, args.overwrite, bar.update)
    kind = "v2.0" if squad.may_have_no_answer else "v1.1"
    print(
        f"wrote {args.output}: {squad.num_questions} questions ({kind}) on {len(squad.paragraphs)} paragraphs, "
        f"{source.num_rows} rows of {args.max_length} tokens, {args.output.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    run_tool("prepare_squad", main)
