# SPDX-License-Identifier: Apache-2.0
"""A checkpoint as Lightning's trainer leaves it."""

from pathlib import Path

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset
from varied_net import VariedNet


class _Module(lightning.LightningModule):
    def __init__(self, net: VariedNet) -> None:
        super().__init__()
        self.model = net
        self.save_hyperparameters({"width": 13, "name": "varied"})

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        return self.model(batch[0]).square().mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=1e-3, momentum=0.9)


def trained_checkpoint(folder: Path, net: VariedNet) -> Path:
    images = DataLoader(TensorDataset(torch.rand(16, 3, 8, 8)), batch_size=8)
    saver = lightning.pytorch.callbacks.ModelCheckpoint(folder, filename="{epoch}-{step}")
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, max_steps=2, default_root_dir=folder, logger=False, callbacks=[saver],
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(_Module(net), images)
    (path,) = folder.glob("epoch=0-step=2.ckpt")
    return path
