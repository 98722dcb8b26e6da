#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes questions with choices as a Tally data set of the task multiclass, for models that score all choices at once.

Such models are transformers' ...ForMultipleChoice, as trained on SWAG, HellaSwag, RACE or CommonsenseQA. For causal
language models, which say how likely each choice is, take prepare_choices.py or prepare_lm_eval.py.

--input is a table (.csv, .tsv), JSON lines (.jsonl, .ndjson, .json), a .parquet file, or the folder of a Hugging Face
data set (with --split where it has several parts); the last two need pyarrow. A field inside an object is named with a
dot: choices.text. All rows have the same number of choices.

Each choice is a pair of texts, as in transformers' run_swag.py: the first text, and the second one followed by the
choice, or the choice alone where --text-fields names one field. Pairs are split with truncation=True.

Labels are numbers or the letters A, B, and so on. A row whose label is -1, - or missing is read and run, but not
scored.
"""

import argparse
from pathlib import Path

import numpy as np

from tally_data.atomic import check_output
from tally_data.choice_records import NO_CHOICE, ChoiceReader, Question
from tally_data.errors import DataError, UsageError, run_tool
from tally_data.json_form import JsonForm
from tally_data.options import ToolParser, add_output_options, not_negative, positive
from tally_data.progress import progress_bar
from tally_data.records import add_record_options, names_of, read_records
from tally_data.sequence_columns import DTYPES, filled_up
from tally_data.sequence_tokenizer import Row, SequenceTokenizer
from tally_data.writer import DataSetWriter

QUESTIONS_PER_PIECE = 256


def read_rows(questions: list[Question], tokenizer: SequenceTokenizer, path: Path) -> list[Row]:
    """Of each question a row for each of its choices."""
    pairs = [(question, choice) for question in questions for choice in question.choices]
    rows = []
    with progress_bar(len(pairs), "choice", path.name) as bar:
        for row in tokenizer.rows([question.first for question, _ in pairs], [choice for _, choice in pairs]):
            if len(row.inputs["input_ids"]) == 0:
                raise DataError(f"'{path}', {pairs[len(rows)][0].place}: a choice and its text hold no token")
            rows.append(row)
            bar.update()
    return rows


def write_choices(
    args: argparse.Namespace, questions: list[Question], rows: list[Row], names: list[str], tokenizer: SequenceTokenizer
) -> int:
    """Inputs are [questions, choices, tokens]. Returns how many tokens the longest row has."""
    num_choices, longest = len(questions[0].choices), max(len(row.inputs["input_ids"]) for row in rows)
    labels = np.array([question.gold for question in questions], np.int64)
    ignore_index = NO_CHOICE if (labels == NO_CHOICE).any() else None
    with DataSetWriter(
        args.output, task="multiclass", num_classes=num_choices, num_samples=len(questions), ignore_index=ignore_index,
        overwrite=args.overwrite,
    ) as out:  # fmt: skip
        shape = (num_choices, longest)
        inputs = {name: out.add_input(name, dtype=DTYPES[name], shape=shape) for name in tokenizer.paddings}
        mask = out.add_input("attention_mask", dtype="uint8", shape=shape)
        out.add_target("label", labels)
        out.add_names(names)
        step = QUESTIONS_PER_PIECE * num_choices
        for piece in (rows[begin : begin + step] for begin in range(0, len(rows), step)):
            for name, column in inputs.items():
                values = filled_up([row.inputs[name] for row in piece], longest, tokenizer.paddings[name])
                column.append(values.reshape(-1, *shape))
            lengths = np.array([len(row.inputs["input_ids"]) for row in piece])
            mask.append((np.arange(longest) < lengths[:, None]).astype(np.uint8).reshape(-1, *shape))
    return longest


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    add_record_options(parser, "a table, JSON lines, a parquet file or a folder")
    parser.add_argument(
        "--text-fields", required=True, metavar="NAME[,NAME]",
        help="of the first text (sent1, article, ctx_a), and what stands before each choice (sent2, question, ctx_b)",
    )  # fmt: skip
    parser.add_argument(
        "--choice-fields",
        required=True,
        metavar="NAME[,NAME...]",
        help="a field for each choice, or one with a list of them",
    )
    parser.add_argument(
        "--label-field", default="label", metavar="NAME", help="of the right choice, default %(default)s"
    )
    parser.add_argument(
        "--first-label",
        type=not_negative,
        default=0,
        metavar="N",
        help="the number of the first choice, default %(default)s",
    )
    parser.add_argument(
        "--blank", metavar="TEXT",
        help="in a second text that holds it the choice takes its place, such as _ in questions of RACE",
    )  # fmt: skip
    parser.add_argument(
        "--tokenizer", type=Path, required=True, metavar="PATH", help="the model's folder or tokenizer.json"
    )
    parser.add_argument(
        "--max-length", type=positive, metavar="N", help="tokens of a row; default: as many as the tokenizer says"
    )
    add_output_options(parser, "the data set file (.h5)")
    return parser


def read_options() -> argparse.Namespace:
    args = make_parser().parse_args()
    args.text_fields, args.choice_fields = args.text_fields.split(","), args.choice_fields.split(",")
    if len(args.text_fields) > 2:
        raise UsageError(f"--text-fields names {len(args.text_fields)} fields, expected one or two")
    if args.blank is not None and (args.blank == "" or len(args.text_fields) == 1):
        raise UsageError("--blank is a text that stands in the second one of two --text-fields")
    return args


def main() -> None:
    args = read_options()
    check_output(args.output, args.overwrite)
    records = read_records(args.input, args.split)
    form = JsonForm(args.input, "the form of questions with choices")
    questions = ChoiceReader(args, records, form).read()
    names = names_of(records, form, args.id_field)
    tokenizer = SequenceTokenizer(args.tokenizer, args.max_length)
    rows = read_rows(questions, tokenizer, args.input)
    longest = write_choices(args, questions, rows, names, tokenizer)
    if num_cut := sum(row.is_cut for row in rows):
        print(f"note: {num_cut} of {len(rows)} rows were longer than {tokenizer.max_length} tokens and are cut")
    if num_ignored := sum(question.gold == NO_CHOICE for question in questions):
        print(f"note: {num_ignored} of {len(questions)} questions have no label and are not scored")
    print(
        f"wrote {args.output}: {len(questions)} questions of {len(questions[0].choices)} choices, rows of up to "
        f"{longest} tokens, {args.output.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    run_tool("prepare_multiple_choice", main)
