# SPDX-License-Identifier: Apache-2.0
"""Small sets of questions as data_tools/prepare_squad.py makes them."""

import copy
import subprocess
import sys
from pathlib import Path

from small_squad import V11, write_squad, write_vocabulary

ROOT = Path(__file__).resolve().parents[3]

REPEATED = copy.deepcopy(V11)
REPEATED["data"][1]["paragraphs"][0]["qas"].append(
    {"id": "q4", "question": "which TOWER?", "answers": [{"text": "Paris", "answer_start": 41}]}
)


def prepare(folder: Path, content: object, *options: object) -> Path:
    words = ["--input", write_squad(folder / "in.json", content), "--vocab", write_vocabulary(folder / "vocab.txt")]
    command = [sys.executable, ROOT / "data_tools" / "prepare_squad.py", *words, "--output", folder / "a.h5", *options]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return folder / "a.h5"
