# SPDX-License-Identifier: Apache-2.0
"""prepare_dataset: faults in the user's own dataset that no other file has, each one line with its place."""

from pathlib import Path

import pytest

from conftest import Tool

NAME = "prepare_dataset"
IMAGES = """
import io
import numpy as np
from PIL import Image

def image(is_cut=False, mode="RGB"):
    out = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    (Image.fromarray(pixels) if mode == "RGB" else Image.fromarray(pixels[..., 0])).save(out, "PNG")
    return Image.open(io.BytesIO(out.getvalue()[: 2000 if is_cut else None]))  # reads no pixels yet

def cut():
    return [(image(index == 2), index % 2) for index in range(4)]

def cut_mask():
    return [(image(), image(index == 2, mode="L")) for index in range(4)]

def lab():
    return [(Image.new("LAB", (64, 64)) if index == 2 else image(), index % 2) for index in range(4)]
"""


@pytest.mark.parametrize(("function", "says"), [
    ("cut", "item 2: 'image' cannot be decoded: it is damaged or no image (OSError)"),
    ("cut_mask", "item 2: the target cannot be decoded: it is damaged or no image (OSError)"),
    ("lab", "item 2: 'image' is an image of the mode LAB and cannot be made L: conversion from LAB to RGB"),
])  # fmt: skip
def test_images_that_are_not_read_yet(function: str, says: str, tmp_path: Path, fail: Tool) -> None:
    (tmp_path / "data.py").write_text(IMAGES)
    options = ["--dataset", f"{tmp_path / 'data.py'}:{function}", "--channels", "L", "--mean", 0, "--std", 1, "--workers", 1]
    fail(NAME, *options, code=3, says=says)


@pytest.mark.parametrize(("code", "says"), [
    ("import sys\nsys.exit(0)", "cannot be imported: SystemExit: 0 ("),
    ("import argparse\nargparse.ArgumentParser().parse_args(['--none'])", "cannot be imported: SystemExit: 2 ("),
])  # fmt: skip
def test_code_that_exits_when_it_is_imported(code: str, says: str, tmp_path: Path, tool: Tool) -> None:
    (tmp_path / "exits.py").write_text(code)
    done = tool(NAME, "--dataset", f"{tmp_path / 'exits.py'}:make", "--output", tmp_path / "a.h5")
    assert done.returncode == 2 and says in done.stderr.splitlines()[-1]  # argparse itself prints lines before


STREAMS = """
import sys

class Stream:
    def __iter__(self):
        raise RuntimeError("no disk")

def make():
    return Stream()

def exits():
    sys.exit("no data")
"""


@pytest.mark.parametrize(("function", "says"), [
    ("make", "data.py:make': the dataset raised RuntimeError: no disk ("),
    ("exits", "data.py:exits' failed: SystemExit: no data ("),
])  # fmt: skip
def test_code_that_fails_when_it_is_called(function: str, says: str, tmp_path: Path, fail: Tool) -> None:
    (tmp_path / "data.py").write_text(STREAMS)
    fail(NAME, "--dataset", f"{tmp_path / 'data.py'}:{function}", "--workers", 1, code=3, says=says)


STOPPED = """
import os, signal
class Items:
    def __len__(self):
        return 5
    def __getitem__(self, index):
        if index == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return [0.5], index % 2
"""


def test_a_signal_is_no_fault_of_the_dataset(tmp_path: Path, tool: Tool) -> None:
    """As a scheduler sends it at the time limit, while an item is made."""
    (tmp_path / "data.py").write_text(STOPPED)
    words = ("--dataset", f"{tmp_path / 'data.py'}:Items", "--workers", 1, "--output", tmp_path / "x.h5")
    done = tool(NAME, *words)
    assert (done.returncode, done.stderr) == (143, "prepare_dataset: stopped by signal 15\n")
    assert not (tmp_path / "x.h5").exists()
