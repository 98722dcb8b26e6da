# SPDX-License-Identifier: Apache-2.0
"""Task files of lm-evaluation-harness over small local data, and a small model with its tokenizer."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from character_model import documentation
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

POSITIONS = 48
NUM_DOCUMENTS = 40

# As ARC's, HellaSwag's, WinoGrande's (contexts are the choices) and WikiText's files are made.
TASKS = {
    "plain_choices": """
output_type: multiple_choice
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{choices.label.index(answerKey)}}"
doc_to_choice: "{{choices.text}}"
metric_list: [{metric: acc}, {metric: acc_norm}, {metric: acc_bytes}, {metric: acc_mutual_info}]
""",
    "continuations": """
output_type: multiple_choice
process_docs: !function functions.process_docs
doc_to_text: "{{query}}"
doc_to_target: "{{label}}"
doc_to_choice: endings
metric_list: [{metric: acc}, {metric: acc_norm}]
""",
    "contexts": """
output_type: multiple_choice
doc_to_text: !function functions.right_context
doc_to_choice: !function functions.contexts
doc_to_target: !function functions.ending
metric_list: [{metric: acc}]
""",
    "texts": """
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: !function functions.detokenized
process_results: !function functions.process_results
metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}, {metric: bits_per_byte}]
""",
    "plain_texts": """
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{page}}"
metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}, {metric: bits_per_byte}]
""",
}  # fmt: skip

FUNCTIONS = r'''
import re

def process_docs(dataset):
    return dataset.map(lambda doc: {"query": doc["question"].strip() + " ", "endings": [one.strip() for one in doc["texts"]]})

def contexts(doc):
    return [doc["question"] + text for text in doc["texts"]]

def right_context(doc):
    return doc["label"]

def ending(doc):
    return doc["ending"]

def detokenized(doc):
    return doc["page"].replace(" . ", ". ").replace(" , ", ", ")

def process_results(doc, results):
    (loglikelihood,) = results
    words, size = len(re.split(r"\s+", doc["page"])), len(doc["page"].encode())
    by_bytes = dict.fromkeys(("byte_perplexity", "bits_per_byte"), (loglikelihood, size))
    return {"word_perplexity": (loglikelihood, words)} | by_bytes
'''


def _documents() -> list[dict[str, Any]]:
    """Texts of many lengths, of letters of several bytes too, and empty ones."""
    text, random, found = documentation(), np.random.default_rng(5), []
    for number in range(NUM_DOCUMENTS):
        begins = random.integers(0, len(text) - 900, 6).tolist()
        choices = [text[begin : begin + int(random.integers(3, 40))].strip() for begin in begins[: 2 + number % 3]]
        choices = [choice + "é" * (number % 3 + 1) for choice in choices]
        label = int(random.integers(len(choices)))
        page = text[begins[4] : begins[4] + [0, 1, 30, 150, 800][number % 5]]
        found.append({
            "question": text[begins[5] :][: 4 + 9 * (number % 12)], "texts": choices, "label": label, "ending": choices[0],
            "choices": {"text": choices, "label": list("ABCD")[: len(choices)]}, "answerKey": "ABCD"[label], "page": page,
        })  # fmt: skip
    return found


def write_tasks(folder: Path) -> dict[str, Path]:
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "data.json").write_text("\n".join(map(json.dumps, _documents())))
    shared = f"""
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder / "data.json"}, train: {folder / "data.json"}}}}}
test_split: test
fewshot_split: train
"""
    for name, text in TASKS.items():
        (folder / f"{name}.yaml").write_text(f"task: {name}\n{shared}{text}")
    return {name: folder / f"{name}.yaml" for name in TASKS}


def save_model(folder: Path, puts_bos: bool) -> None:
    """A folder of transformers; puts_bos: the tokenizer puts a token in front of every text, as Llama's does."""
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator([documentation()], trainer)
    if puts_bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)]
        )
    names = dict.fromkeys(("bos_token", "eos_token"), "<|endoftext|>")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"vocab_size": tokenizer.get_vocab_size(), "n_positions": POSITIONS, "n_embd": 32, "n_layer": 2, "n_head": 2}
    config = GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, initializer_range=0.1)
    GPT2LMHeadModel(config).save_pretrained(folder)
