# SPDX-License-Identifier: Apache-2.0
"""Datasets that need no library: processes that read them start quickly."""

import os
import signal
from pathlib import Path

import numpy as np
from PIL import Image

NUM_ITEMS = 23


def rng(index):
    return np.random.default_rng(index)


def pixels(index, height=6, width=7):
    return rng(index).integers(0, 256, (height, width, 3), np.uint8)


class Made:
    """item(index) for each index; one fault may be asked for from outside."""

    def __init__(self, item, num_items=NUM_ITEMS):
        self.item, self.num_items = item, num_items

    def __len__(self):
        return self.num_items

    def __getitem__(self, index):
        if str(index) == os.environ.get("RAISE_AT"):
            raise RuntimeError("a disk is gone")
        if str(index) == os.environ.get("KILL_AT"):
            os.kill(os.getpid(), signal.SIGKILL)
        if str(index) == os.environ.get("HOLD_AT"):  # until the other end of the pipe is closed
            Path(os.environ["HOLD_FILE"]).read_bytes()
        return self.item(index)


class Named(Made):
    classes = ("cat", "dog", "owl", "yak")


def pillow():
    return Named(lambda index: (Image.fromarray(pixels(index)), index % 3))


def far_label():
    return Named(lambda index: (pixels(index), 4 if index == 17 else 0))
