# SPDX-License-Identifier: Apache-2.0
"""SQuAD's development set and models for it, as a user makes them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from prepared import TOOLS, Cache
from squad_stand_in import StandIn, save_stand_in

BERT_ENSEMBLE = "BERT_ensemble_Google_AI_Language"
LOGISTIC_REGRESSION = "Logistic_Regression_Baseline_Stanford_University"


class SquadFiles:
    """Kept in a cache."""

    def __init__(self, data_dir: Path, cache_dir: Path) -> None:
        self.folder = data_dir / "squad"
        self._cache = Cache(cache_dir)

    def published(self, system: str) -> Path:
        return self.folder / "predictions-v1.1" / f"{system}.json"

    def data(self) -> Path:
        return self._cache.tool(
            "squad.h5", TOOLS / "prepare_squad.py", "--input", self.folder / "dev-v1.1-reconstructed.json",
            "--vocab", self.folder / "bert-base-uncased-vocab.txt",
        )  # fmt: skip

    def stand_in(self, model: Path, system: str = BERT_ENSEMBLE) -> StandIn:
        return save_stand_in(self.data(), json.loads(self.published(system).read_text()), model)

    def config(self, layers: int) -> Path:
        """Of BERT with the hidden size of the base model."""

        def write(path: Path) -> None:
            path.write_text(json.dumps({
                "architectures": ["BertForQuestionAnswering"], "model_type": "bert", "hidden_size": 768,
                "num_hidden_layers": layers, "num_attention_heads": 12, "intermediate_size": 3072,
                "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
            }))  # fmt: skip

        return self._cache.made(f"bert{layers}.json", write)

    def bert(self, layers: int) -> Path:
        """With weights of seed 0."""
        words = ["--model", f"hf:{self.config(layers)}", "--format", "torchscript"]
        return self._cache.tool(f"bert{layers}.pt", TOOLS / "export_model.py", *words)


def official_f1(texts: Sequence[str], golds: Sequence[Sequence[str]]) -> np.ndarray:
    """Of each question, by torchmetrics: [questions, 2], exact match and F1 as shares."""
    from torchmetrics.functional.text import squad

    found = []
    for text, answers in zip(texts, golds, strict=True):
        target = {"answers": {"answer_start": [0] * len(answers), "text": list(answers)}, "id": "1"}
        scores = squad([{"prediction_text": text, "id": "1"}], [target])
        found.append([float(scores["exact_match"]) / 100, float(scores["f1"]) / 100])
    return np.array(found)


def golds_of(path: Path) -> dict[str, list[str]]:
    """By question id, of a file in SQuAD's form."""
    content = json.loads(path.read_text())
    return {
        question["id"]: [answer["text"] for answer in question["answers"]]
        for article in content["data"] for paragraph in article["paragraphs"] for question in paragraph["qas"]
    }  # fmt: skip
