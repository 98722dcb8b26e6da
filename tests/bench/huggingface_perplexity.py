# SPDX-License-Identifier: Apache-2.0
"""Perplexity of documents of any length by the loop of Hugging Face's guide: a window after the other.

    huggingface_perplexity.py MODEL TEXTS LENGTH STRIDE

MODEL is a folder of transformers, TEXTS a JSON list of texts whose bytes are the tokens. Prints a line of JSON.
"""

import json
import sys
import time
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM


@torch.inference_mode()
def main() -> None:
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
    texts = json.loads(Path(sys.argv[2]).read_text())
    length, stride = int(sys.argv[3]), int(sys.argv[4])
    begin_s = time.perf_counter()
    total, count, windows = 0.0, 0, 0
    for text in texts:
        tokens = torch.tensor(list(text.encode()))[None]
        before = 0
        for begin in range(0, tokens.size(1), stride):
            end = min(begin + length, tokens.size(1))
            ids = tokens[:, begin:end]
            targets = ids.clone()
            targets[:, : -(end - before)] = -100
            num_scored = int((targets[:, 1:] != -100).sum())
            total += model(ids, labels=targets).loss.item() * num_scored
            count, before, windows = count + num_scored, end, windows + 1
            if end == tokens.size(1):
                break
    loop_s = time.perf_counter() - begin_s
    print(json.dumps({"loss": total / count, "tokens": count, "per_s": windows / loop_s}))


main()
