# SPDX-License-Identifier: Apache-2.0
"""A small data set, a model and options for each task whose answers are not one class or value for each sample."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import detection_runs
import pixel_sets
import prediction_sets
import prepared_squad
import small
import tag_sets
import torch
from character_model import Trained, documentation
from coco_reference import random_case
from detector_stand_in import save_detector
from squad_stand_in import save_stand_in
from token_models import save_bigram

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class TaskCase:
    model: Path
    data: Path
    options: tuple[object, ...] = ("--batch-size", 4)


def segmentation(folder: Path) -> TaskCase:
    data = pixel_sets.write_masks(folder / "set.h5", *pixel_sets.mask_scores("ignored"), groups=True)
    model = small.save_model(pixel_sets.AsTheyAre(), folder / "m.pt")
    return TaskCase(model, data, pixel_sets.MASK_OPTIONS)


def regression_of_maps(folder: Path) -> TaskCase:
    data = pixel_sets.write_maps(folder / "set.h5", *pixel_sets.map_values())
    model = small.save_model(torch.jit.script(pixel_sets.AsTheyAre()), folder / "m.pt")
    return TaskCase(model, data, pixel_sets.MAP_OPTIONS)


def predict(folder: Path) -> TaskCase:
    data = prediction_sets.write_set(folder / "set.h5", prediction_sets.features(), groups=True)
    return TaskCase(small.save_model(prediction_sets.Several(), folder / "m.pt"), data, prediction_sets.OPTIONS)


def question_answering(folder: Path) -> TaskCase:
    data = prepared_squad.prepare(folder, prepared_squad.REPEATED, "--max-length", 40, "--stride", 10)
    told = {"q-é": "café tower", "q2": "cafe\u0301s, Straße", "q3": "nowhere"}
    return TaskCase(save_stand_in(data, told, folder / "m.pt").model, data)


def _bigram(folder: Path) -> Trained:
    characters = "".join(sorted(set(documentation())))
    module, path = save_bigram(folder / "m.pt", len(characters))
    return Trained(module, characters, path)


def _documents(model: Trained, folder: Path) -> Path:
    text = documentation()
    documents = {f"page {i}": text[100 * i :][: 37 * i + 1] for i in range(9)}
    return model.prepare(folder, documents, "--max-length", 32, "--stride", 16)


def language_model(folder: Path) -> TaskCase:
    model = _bigram(folder)
    return TaskCase(model.path, _documents(model, folder))


def traced_transformer(folder: Path) -> TaskCase:
    """By the exporter, on a CPU: its graph holds what it found there."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = _bigram(folder)
    sizes = {"vocab_size": len(model.characters), "n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 2}
    torch.manual_seed(0)
    GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)).save_pretrained(folder / "net")
    words = [ROOT / "data_tools" / "export_model.py", "--model", f"hf:{folder / 'net'}", "--output", folder / "gpt2.pt"]
    subprocess.run([sys.executable, *map(str, words)], check=True, capture_output=True)
    return TaskCase(folder / "gpt2.pt", _documents(model, folder))


def multiple_choice(folder: Path) -> TaskCase:
    model, text = _bigram(folder), documentation()
    questions = [
        {"id": f"q{i}", "question": text[50 * i :][:20], "gold": i % 3,
         "choices": [text[500 * j + 90 * i :][: 3 + 5 * j + i] for j in range(3 + i % 2)]}
        for i in range(20)
    ]  # fmt: skip
    return TaskCase(model.path, model.prepare_choices(folder, questions))


def detection(folder: Path) -> TaskCase:
    case = random_case(1, num_images=17)
    data = detection_runs.prepare(case, folder)
    return TaskCase(save_detector(data, case.found, folder / "m.pt"), data, detection_runs.OPTIONS)


def token_classification(folder: Path) -> TaskCase:
    data = tag_sets.make_sentences(23).write(folder / "set.h5")
    return TaskCase(tag_sets.save_tagger(tag_sets.Tagger(), folder / "m.pt"), data)


TASK_CASES: dict[str, Callable[[Path], TaskCase]] = {
    make.__name__: make
    for make in (
        segmentation, regression_of_maps, predict, question_answering, language_model, traced_transformer,
        multiple_choice, detection, token_classification,
    )
}  # fmt: skip
