#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the state_dict of a network of models.py from raw weights: STEM.f32.bin and STEM.f32.manifest.txt.

The manifest has a line per tensor, `name dim dim ...`; the .bin holds the values one after the other, float32
little-endian. The output is a .pth of torch.save (zip form) or .safetensors, by its suffix.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import torch
from models import ALL
from safetensors.torch import save_file

StateDict = dict[str, torch.Tensor]

# Where torchvision's squeezenet1_1 has the layers of the original.
_SQUEEZENET_FIRE = {2: 3, 3: 4, 4: 6, 5: 7, 6: 9, 7: 10, 8: 11, 9: 12}


def read_raw(stem: Path) -> StateDict:
    """name -> float32 tensor, in the order of the manifest."""
    values = np.fromfile(f"{stem}.f32.bin", "<f4")
    tensors, first = {}, 0
    for line in Path(f"{stem}.f32.manifest.txt").read_text().splitlines():
        name, *sizes = line.split()
        shape = tuple(map(int, sizes))
        last = first + int(np.prod(shape))
        tensors[name] = torch.from_numpy(values[first:last].reshape(shape).copy())
        first = last
    if first != values.size:
        raise SystemExit(f"{stem}.f32.bin holds {values.size} values, its manifest {first}")
    return tensors


def _squeezenet_name(name: str) -> str:
    layer, kind = name.rsplit(".", 1)
    suffix = {"w": "weight", "b": "bias"}[kind]
    fire = re.fullmatch(r"fire(\d)/(squeeze|expand)(1x1|3x3)", layer)
    if fire:
        part = "squeeze" if fire[2] == "squeeze" else fire[2] + fire[3]
        return f"features.{_SQUEEZENET_FIRE[int(fire[1])]}.{part}.{suffix}"
    return {"conv1": "features.0", "conv10": "classifier.1"}[layer] + "." + suffix


def state_dict_name(network: str, name: str) -> str:
    if network == "squeezenet1_1":
        return _squeezenet_name(name)
    return name.removeprefix("module.")


def convert(network: str, stem: Path) -> StateDict:
    """The whole state_dict, with the buffers that the raw file leaves out at their initial value."""
    module = ALL[network]()
    raw = {state_dict_name(network, name): tensor for name, tensor in read_raw(stem).items()}
    counters = {name for name in module.state_dict() if name.endswith("num_batches_tracked")}
    left = module.load_state_dict(raw, strict=False)
    if left.unexpected_keys or set(left.missing_keys) - counters:
        raise SystemExit(f"{stem} does not fit {network}: {left}")
    return module.state_dict()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--network", choices=tuple(ALL), required=True)
    parser.add_argument("--input", type=Path, required=True, metavar="STEM", help="path without .f32.bin")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help=".pth or .safetensors")
    args = parser.parse_args()
    state = convert(args.network, args.input)
    if args.output.suffix == ".safetensors":
        save_file(state, args.output)
    else:
        torch.save(state, args.output)
    print(f"wrote {args.output}: {len(state)} tensors of {args.network}")


if __name__ == "__main__":
    main()
