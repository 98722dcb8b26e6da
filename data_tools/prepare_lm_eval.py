#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a task of lm-evaluation-harness as a Tally data set, for causal language models.

--tasks is a task's YAML file, or the name of one of the harness's own tasks or of --include-path. The harness itself, which
must be installed (data_tools/requirements-lm-eval.txt), loads the task and makes its requests; its class for models of
Hugging Face's encodes them, and cuts what is longer than --max-length at the left end, so that the model is given what
`lm_eval --model hf` gives it. Tally's figures are then those of the harness:

    output_type              task of the data set    figures
    multiple_choice          multiple-choice         accuracy (acc), accuracy_norm (acc_norm), accuracy_bytes (acc_bytes)
    loglikelihood_rolling    language-model          word_perplexity, byte_perplexity, bits_per_byte

Tasks that score generated texts (generate_until) are refused, and so are those that compute results of choices by a function
of their own. Nothing is looked for on the network unless HF_HUB_OFFLINE=0 and HF_DATASETS_OFFLINE=0 are set. A task file may
name code, which is run: use those that you trust.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from tally_data.atomic import check_output
from tally_data.choice_set import write_choice_set
from tally_data.document_set import DocumentSize, Extent, write_document_set
from tally_data.errors import DataError, run_tool
from tally_data.lm_eval_rows import HarnessEncoder
from tally_data.lm_eval_tasks import CHOICES, METRICS, load_task, other_metrics, read_documents, read_questions
from tally_data.options import ToolParser, add_output_options, not_negative, positive
from tally_data.progress import progress_bar
from tally_data.token_rows import IGNORED


def write_questions(task: Any, encoder: HarnessEncoder, args: argparse.Namespace) -> str:
    """Returns what was written."""
    asked = read_questions(task)
    rows = []
    with progress_bar(len(asked), "question", "encoding") as bar:
        for question, requests in asked:
            rows.append(encoder.rows(requests, question.place))
            bar.update(1)
    longest = write_choice_set([one.question for one in asked], rows, encoder.num_tokens, args.output, args.overwrite)
    return f"{len(rows)} questions, {sum(map(len, rows))} choices, rows of up to {longest} tokens of {encoder.num_tokens} kinds"


def with_those_without_tokens(sizes: list[DocumentSize], have_tokens: list[bool]) -> list[DocumentSize]:
    """The harness divides by the words and bytes of all documents, `tally` by those of documents with a scored token.

    What the others have is added to the next one that has one, or to the last.
    """
    counted, num_bytes, num_words = list(sizes), 0, 0
    last = max(number for number, has_token in enumerate(have_tokens) if has_token)
    for number, (size, has_token) in enumerate(zip(sizes, have_tokens, strict=True)):
        num_bytes, num_words = num_bytes + size.num_bytes, num_words + size.num_words
        if has_token:
            counted[number] = DocumentSize(size.identity, num_bytes, num_words)
            num_bytes = num_words = 0
    end = counted[last]
    counted[last] = DocumentSize(end.identity, end.num_bytes + num_bytes, end.num_words + num_words)
    if num_others := have_tokens.count(False):
        print(f"note: {num_others} documents hold no token; their words and bytes count with the document behind them")
    return counted


def write_documents(task: Any, encoder: HarnessEncoder, args: argparse.Namespace) -> str:
    """Returns what was written."""
    documents = read_documents(task)
    rows = []
    with progress_bar(len(documents), "document", "encoding") as bar:
        for number, (size, request) in enumerate(documents):
            place = f"document {size.identity} of task '{task.task_name}'"
            rows += [(number, row) for row in encoder.windows(request, place)]
            bar.update(1)
    scored = np.zeros(len(documents), np.int64)
    for number, row in rows:
        scored[number] += np.count_nonzero(row.labels != IGNORED)
    num_scored = int(scored.sum())
    if num_scored == 0:
        raise DataError(f"task '{task.task_name}' holds no token to score")
    extent = Extent(len(rows), num_scored, max(len(row.inputs) for _, row in rows))
    sizes = with_those_without_tokens([document.size for document in documents], (scored > 0).tolist())
    write_document_set(sizes, iter(rows), extent, encoder.num_tokens, args.output, args.overwrite)
    return (
        f"{len(sizes)} documents, {num_scored} tokens of {encoder.num_tokens} kinds scored, {len(rows)} rows of up to "
        f"{extent.longest} tokens"
    )


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    parser.add_argument("--tasks", required=True, metavar="FILE.yaml|NAME", help="one task")
    parser.add_argument("--include-path", type=Path, metavar="DIR", help="a folder of more task files, as for lm_eval")
    parser.add_argument(
        "--tokenizer", type=Path, required=True, metavar="FOLDER", help="of the model, as Hugging Face's libraries save it"
    )
    parser.add_argument(
        "--max-length", type=positive, required=True, metavar="N",
        help="tokens that the model sees; the harness takes n_positions or max_position_embeddings of config.json",
    )  # fmt: skip
    parser.add_argument(
        "--num-fewshot", type=not_negative, metavar="K", help="examples before each question; default: the task's, else none"
    )
    add_output_options(parser, "the data set file (.h5)")
    return parser


def main() -> None:
    args = make_parser().parse_args()
    check_output(args.output, args.overwrite)
    task = load_task(args.tasks, args.include_path, args.num_fewshot)
    encoder = HarnessEncoder(args.tokenizer, args.max_length)
    write = write_questions if task.OUTPUT_TYPE == CHOICES else write_documents
    written = write(task, encoder, args)
    if others := other_metrics(task):
        known = ", ".join(METRICS[task.OUTPUT_TYPE].values())
        print(f"note: Tally's figures for this task are {known}; the task also asks for {', '.join(others)}")
    print(f"wrote {args.output}: task '{task.task_name}', {written}, {args.output.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    run_tool("prepare_lm_eval", main)
