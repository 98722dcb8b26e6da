# SPDX-License-Identifier: Apache-2.0
"""What rates are measured on: networks with random weights and random HDF5 files, of which those are made that are needed."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
from recording import Figures

ROOT = Path(__file__).resolve().parents[2]
CLASSES = 1000
SMALL_PER_IMAGE = 2  # images of 32 x 32 for each one of 224 x 224
TEXT_ROWS, TOKENS = 8192, 128
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

# File name -> words of the exporter.
SCRIPTS = {
    "resnet50.pt": [],
    "resnet18.pt": [],
    "resnet18-32.pt": ["--input-shape", "3,32,32"],
    "vit_b_16.pt": [],
}
# Of timm, from families whose networks have little in common on a GPU.
FAMILIES = ("mobilenetv3_large_100", "efficientnet_b0", "resnext50_32x4d", "densenet121", "convnext_tiny",
            "swin_tiny_patch4_window7_224")  # fmt: skip

COMPILED = ["--format", "pt2", "--device", "cuda", "--precision"]
PACKAGES = {
    "resnet50-bf16.pt2": [*COMPILED, "bf16"],
    "resnet50-bf16-256.pt2": [*COMPILED, "bf16", "--batch-size", "256"],
    "resnet18-32-fp32.pt2": [*COMPILED, "fp32", "--input-shape", "3,32,32"],
    "vit_b_16-bf16.pt2": [*COMPILED, "bf16"],
} | {f"timm:{name}-bf16.pt2": [*COMPILED, "bf16"] for name in FAMILIES}


def write_data(path: Path, num_samples: int, side: int = 224) -> None:
    random = np.random.default_rng(0)
    block = random.integers(0, 256, (min(1024, num_samples), side, side, 3), "u1")
    with h5py.File(path, "w") as file:
        file.attrs["tally_schema"] = np.int64(1)
        file.attrs["task"] = "multiclass"
        file.attrs["num_classes"] = np.int64(CLASSES)
        image = file.create_dataset("/inputs/image", (num_samples, side, side, 3), "u1")
        for first in range(0, num_samples, len(block)):
            image[first : first + len(block)] = block[: num_samples - first]
        image.attrs.update({"layout": "HWC", "channels": "RGB", "scale": 1 / 255, "mean": MEAN, "std": STD})
        file["/targets/label"] = random.integers(0, CLASSES, num_samples)


def num_samples_in(path: Path) -> int:
    """0 where there is no such file."""
    if not path.exists():
        return 0
    with h5py.File(path) as file:
        return len(file["/targets/label"])


def make(path: Path, tool: str, *words: object) -> None:
    """By a program of data_tools. Where it fails there is no figure."""
    if path.exists():
        return
    command = [sys.executable, ROOT / "data_tools" / tool, *words, "--output", path]
    threads = {"OMP_NUM_THREADS": "2"}  # several run side by side, and threads without a core of their own spin
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env=os.environ | threads)
    if done.returncode != 0:
        print(f"{path.name} cannot be made:\n{done.stdout[-2000:]}{done.stderr[-4000:]}", flush=True)


def export(name: str, words_of_form: list[str], folder: Path) -> None:
    words = ["--model", name.removesuffix(".pt").split("-")[0], "--input-shape", "3,224,224"]
    words += ["--mean", ",".join(map(str, MEAN)), "--std", ",".join(map(str, STD)), *words_of_form]
    make(folder / name, "export_model.py", *words)


def prepare_language_model(folder: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    text = folder / "text.txt"
    letters = np.random.default_rng(0).integers(ord("a"), ord("z") + 1, TEXT_ROWS * TOKENS, "u1")
    text.write_bytes(letters.tobytes())
    make(folder / "text.h5", "prepare_text.py", "--input", text, "--tokenizer", "bytes", "--max-length", TOKENS)
    GPT2LMHeadModel(GPT2Config()).save_pretrained(folder / "gpt2")
    make(folder / "gpt2.pt", "export_model.py", "--model", f"hf:{folder / 'gpt2'}", "--precision", "bf16")


def prepare(folder: Path, models: dict[str, list[str]], num_images: int, needed: set[str]) -> None:
    """The files of `needed`: models, and data sets."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(models) + 1) as pool:
        exports = [pool.submit(export, name, words, folder) for name, words in models.items() if name in needed]
        if "gpt2.pt" in needed:
            exports.append(pool.submit(prepare_language_model, folder))
        sets = (("images.h5", num_images, 224), ("small.h5", SMALL_PER_IMAGE * num_images, 32))
        for name, num_samples, side in sets:
            if name in needed and num_samples_in(folder / name) != num_samples:
                write_data(folder / f"partial-{name}", num_samples, side)
                (folder / f"partial-{name}").rename(folder / name)
        for done in exports:
            done.result()


def name_of(what: str, batch: int) -> str:
    return f"tally, {what}, batches of {batch}"


class NeededFiles:
    """In the place of Rates: which files the figures are measured on that are wanted."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self.names: set[str] = set()

    def record(self, *_: object) -> None:
        """A network of PyTorch needs no file."""

    def tally(self, what: str, model: str, batch: int, *_: object, data: str = "images.h5", unit: str = "") -> None:
        if self._figures.wants(name_of(what, batch)):
            self.names |= {model, data}

    def traced(self, model: str, *_: object) -> None:
        if self._figures.wants("trace"):
            self.names |= {model, "images.h5"}
