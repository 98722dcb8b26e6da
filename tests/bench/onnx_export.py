# SPDX-License-Identifier: Apache-2.0
"""Writes a network of the benchmarks as ONNX, for rivals: it takes what a data set stores and normalises images itself.

python onnx_export.py NETWORK DATA OUTPUT [WEIGHTS]
"""

import sys
import warnings

import h5py
import networks
import torch


class FromStored(torch.nn.Module):
    def __init__(self, name: str, attributes: h5py.AttributeManager) -> None:
        super().__init__()
        trained = networks.normalisation(name) or attributes
        self.network = networks.make(name)
        self.swaps = networks.swaps_channels(trained, attributes)
        std = torch.tensor(trained["std"], dtype=torch.float64)
        self.register_buffer("factor", (float(trained["scale"]) / std).float().view(1, -1, 1, 1))
        self.register_buffer("shift", (torch.tensor(trained["mean"]) / std).float().view(1, -1, 1, 1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        stored = images[..., [2, 1, 0]] if self.swaps else images
        return self.network(stored.permute(0, 3, 1, 2).float() * self.factor - self.shift)


def main() -> None:
    name, data, output, *weights = sys.argv[1:]
    with h5py.File(data) as file:
        ((key, stored),) = file["/inputs"].items()
        is_image = stored.ndim == 4
        network = FromStored(name, stored.attrs) if is_image else networks.make(name)
        if weights:
            (network.network if is_image else network).load_state_dict(torch.load(weights[0]))
        example = torch.from_numpy(stored[:4])
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(network.eval(), (example,), output, input_names=[key], output_names=["logits"], opset_version=17,
                          dynamic_axes={key: {0: "n"}, "logits": {0: "n"}}, dynamo=False)  # fmt: skip


main()
