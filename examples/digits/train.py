#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains digits_convnet() for some seconds and saves its state_dict: plain PyTorch, nothing of Tally."""

import argparse
from pathlib import Path

import h5py
import numpy as np
import torch
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from model import digits_convnet


def read_data_set(path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Images as float32 [N, C, H, W], normalised as the file's attributes say, and labels int64 [N]."""
    with h5py.File(path, "r") as file:
        image = file["inputs/image"]  # uint8 [N, H, W, C]
        scale, mean, std = (image.attrs[name] for name in ("scale", "mean", "std"))
        normalised = (image[...].astype(np.float32) * np.float32(scale) - mean) / std
        labels = file["targets/label"][...]
    images = torch.from_numpy(normalised.astype(np.float32)).permute(0, 3, 1, 2).contiguous()
    return images, torch.from_numpy(labels)


def train(images: torch.Tensor, labels: torch.Tensor, epochs: int, batch_size: int) -> torch.nn.Module:
    model = digits_convnet()
    steps = epochs * -(-len(images) // batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    with tqdm(total=steps, desc="training", unit="step", disable=None) as progress:
        for _ in range(epochs):
            for batch in torch.randperm(len(images)).split(batch_size):
                loss = cross_entropy(model(images[batch]), labels[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                progress.update()
                progress.set_postfix(loss=f"{loss.item():.4f}", refresh=False)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="HDF5 data set to train on")
    parser.add_argument("--output", type=Path, required=True, help="state_dict file to write")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.set_num_threads(1)  # so small a net is faster so, and its weights do not depend on the cores
    torch.manual_seed(options.seed)
    model = train(*read_data_set(options.data), options.epochs, options.batch_size)
    unfinished = options.output.with_name(options.output.name + ".part")
    torch.save(model.state_dict(), unfinished)
    unfinished.rename(options.output)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
