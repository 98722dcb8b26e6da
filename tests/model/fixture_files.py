# SPDX-License-Identifier: Apache-2.0
"""The model and weights files that the tests of the model room read, and what PyTorch says of them."""

import argparse
import json
import os
import struct
import warnings
import zipfile
from pathlib import Path

import h5py
import safetensors.torch
import torch
from torch import nn

import fixture_convolutions as convolutions
import fixture_nets as nets

BATCH = 16


def card(**changes: object) -> str:
    """A model card of the nets here, with changes."""
    content: dict[str, object] = {
        "tally_card": 1,
        "inputs": [{"name": "image", "dtype": "float32", "shape": ["batch", 3, 12, 12]}],
        "outputs": [{"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", 10]}],
        "fixed_batch": None,
        "normalisation": {"scale": 1 / 255, "mean": [0.5, 0.25, 0.125], "std": [1.0, 2.0, 4.0], "channels": "RGB"},
        "weights": "swappable",
        "num_classes": 10,
        "source": {"model": "tests:small"},
    }
    return json.dumps(content | changes)


def make_net(seed: int) -> nets.SmallNet:
    """A net whose batch norm has seen data, so that training and evaluation mode differ."""
    torch.manual_seed(seed)
    net = nets.SmallNet()
    for _ in range(3):
        net(torch.randn(BATCH, 3, 12, 12) * 2 + 1)
    return net


class Fixtures:
    """Writes files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        torch.manual_seed(0)
        self.inputs = torch.randn(BATCH, 3, 12, 12)
        self.net, self.other = make_net(1).eval(), make_net(2).eval()
        self.raw("inputs.f32", self.inputs)

    def raw(self, name: str, values: torch.Tensor) -> None:
        (self.folder / name).write_bytes(values.detach().float().contiguous().numpy().tobytes())

    def write(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def save(self, value: object, name: str, **options: bool) -> None:
        torch.save(value, self.folder / name, **options)

    def script(self, name: str, module: nn.Module, text: str | None = None) -> Path:
        path = self.folder / name
        scripted = module if isinstance(module, torch.jit.ScriptModule) else torch.jit.script(module)
        torch.jit.save(scripted, str(path), _extra_files={} if text is None else {"tally.json": text})
        return path

    def expect(self, name: str, net: nn.Module) -> None:
        """What the net gives: eager in double precision, and frozen TorchScript in channels-last order."""
        self.raw(f"{name}.exact.f32", net.double()(self.inputs.double()))
        frozen = torch.jit.freeze(torch.jit.script(net.float().to(memory_format=torch.channels_last)))
        with torch.jit.optimized_execution(False):
            self.raw(f"{name}.f32", frozen(self.inputs.to(memory_format=torch.channels_last)))
        net.to(memory_format=torch.contiguous_format)

    def models(self) -> None:
        self.script("net.pt", self.net, card())
        self.script("net_no_card.pt", self.net)
        (self.folder / "card.json").write_text(card())
        self.script("net_training.pt", make_net(1).train(), card())
        self.script("net_traced.pt", torch.jit.trace(self.net, self.inputs), card())
        training = torch.jit.trace(make_net(1).train(), self.inputs, check_trace=False)
        self.script("net_traced_training.pt", training)
        self.script("net_frozen.pt", torch.jit.freeze(torch.jit.script(self.net)), card(weights="frozen"))
        self.script("net_bad_card.pt", self.net, card(num_classes="ten"))
        self.script("net_fixed.pt", self.net, card(
            fixed_batch=8,
            inputs=[{"name": "image", "dtype": "float32", "shape": [8, 3, 12, 12]}]))
        torch.manual_seed(4)
        self.script("traced_on_cpu.pt", torch.jit.trace(nets.TracedOnCpu().eval(), self.inputs))
        half = make_net(1).eval().half()
        spec = [{"name": "image", "dtype": "float16", "shape": ["batch", 3, 12, 12]}]
        self.script("net_half.pt", half, card(inputs=spec))
        self.raw("half.f32", half(self.inputs.half()))
        torch.manual_seed(3)
        tied = nets.Tied()
        self.script("tied.pt", tied, card(fixed_buffers=["order"]))
        self.script("tied_no_card.pt", tied)
        (self.folder / "tied_card.json").write_text(card(fixed_buffers=["order"]))
        self.raw("tied.f32", tied(self.inputs))
        self.script("matmul_tree.pt", nets.MatmulTree())
        self.script("slices.pt", nets.Slices())
        for name in ("Raises", "OneTuple", "OneList", "TwoTuple", "ReturnsDict", "WrongRows", "Scalar", "Classes",
                     "MakesNan", "Doubles", "TwoInputs", "DropsInFork"):
            self.script(f"{name}.pt", getattr(nets, name)())
        self.script("NanInFirstLayer.pt", convolutions.NanInFirstLayer())
        self.script("NanInFirstMaxima.pt", convolutions.NanInFirstMaxima())
        for name in ("Residual", "Concatenated", "SharedSums", "BroadcastSum", "OverwrittenInput", "ReluLast", "Scaled",
                     "AddedTo", "SameUnderCast", "CastUsedLater", "PooledSums", "Unbatched", "Wide"):
            torch.manual_seed(5)
            net = getattr(convolutions, name)().eval()
            self.script(f"{name}.pt", net)
            self.expect(name, net)

    def weights(self) -> None:
        state = self.other.state_dict()
        plain = {key: value.clone() for key, value in state.items()}
        self.save(state, "state_dict.pth")
        self.save(plain, "plain_dict.pth")
        self.save({k: nn.Parameter(v, requires_grad=v.is_floating_point()) for k, v in plain.items()}, "parameters.pth")
        self.save({"epoch": 3, "model": state, "best": 0.5, "args": argparse.Namespace(lr=0.1),
                   "optimizer": torch.optim.Adam(self.other.parameters()).state_dict()}, "nested.pth")
        self.save({"run": {"my.weights": state}, "epoch": 3}, "odd_key.pth")
        self.save(nn.DataParallel(self.other).state_dict(), "data_parallel.pth")
        self.save({f"_orig_mod.module.{k}": v for k, v in state.items()}, "compiled.pth")
        self.save({"state_dict": {f"model.{k}": v for k, v in state.items()}, "epoch": 1}, "lightning.pth")
        legacy = {f"module.{k}": v for k, v in state.items() if "num_batches" not in k}
        self.save({"state_dict": legacy, "best_prec1": 91.5}, "legacy.pth", _use_new_zipfile_serialization=False)
        # Views of one storage, one of them transposed.
        shared = torch.cat([state["conv1.bias"], state["bn.bias"]])
        transposed = plain["fc.weight"].t().contiguous().t()
        self.save(plain | {"conv1.bias": shared[:8], "bn.bias": shared[8:], "fc.weight": transposed}, "views.pth")
        rounded = {k: v.bfloat16() if v.is_floating_point() else v for k, v in state.items()}
        self.save(rounded, "bfloat16.pth")
        net = nets.SmallNet().eval()
        net.load_state_dict(rounded)
        self.expect("bfloat16", net)
        safetensors.torch.save_file(plain, self.folder / "weights.safetensors", metadata={"format": "pt"})
        self.save(nets.Slices().state_dict(), "slices.pth")
        self.unaligned_safetensors()
        self.tied_weights()
        self.misfits(plain)

    def unaligned_safetensors(self) -> None:
        """The same with a header of odd length: every tensor lies at an odd address."""
        content = (self.folder / "weights.safetensors").read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = content[8:8 + length].rstrip()
        header += b" " * (1 - len(header) % 2)
        self.write("unaligned.safetensors", struct.pack("<Q", len(header)) + header + content[8 + length:])

    def tied_weights(self) -> None:
        torch.manual_seed(4)
        other = nets.Tied()
        safetensors.torch.save_file({"first.weight": other.first.weight.detach()}, self.folder / "tied.safetensors")
        torch.save(other.state_dict(), self.folder / "tied.pth")
        self.raw("tied_other.f32", other(self.inputs))

    def misfits(self, plain: dict[str, torch.Tensor]) -> None:
        self.save({k: v for k, v in plain.items() if not k.startswith("fc.")}, "missing.pth")
        self.save(plain | {"head.weight": torch.zeros(2)}, "unexpected.pth")
        self.save(plain | {"fc.weight": torch.zeros(7, 400), "fc.bias": torch.zeros(7)}, "misshaped.pth")
        self.save(plain | {"bn.weight": torch.zeros(1)}, "broadcastable.pth")
        self.save(plain | {"bn.weight": torch.zeros(8, dtype=torch.int64)}, "integers.pth")
        self.save(plain | {"bn.weight": torch.zeros(8, dtype=torch.complex64)}, "complex.pth")
        self.save({f"layer{i}.weight": torch.zeros(1) for i in range(30)}, "strangers.pth")
        self.save({"epoch": 3, "lr": 0.5}, "no_tensors.pth")
        self.save(torch.zeros(3), "bare_tensor.pth")
        torch.save(self.net, self.folder / "whole_module.pth")

    def hostile(self) -> None:
        mark = self.folder / "executed"

        class Evil:
            def __reduce__(self) -> tuple[object, tuple[str]]:
                return os.system, (f"touch {mark}",)

        torch.save(Evil(), self.folder / "evil.pth")
        torch.save({"model": self.other.state_dict(), "hook": Evil()}, self.folder / "evil_nested.pth")

    def other_kinds(self) -> None:
        self.write("empty", b"")
        self.write("text.txt", b"epoch 1 loss 0.5\n" * 20)
        self.write("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
        self.write("shards.index.json", b'{"metadata": {}, "weight_map": {"a": "model-1.safetensors"}}')
        with h5py.File(self.folder / "set.h5", "w") as file:
            file["x"] = 1
        with zipfile.ZipFile(self.folder / "archive.zip", "w") as archive:
            archive.writestr("folder/readme.txt", "hello")
        with zipfile.ZipFile(self.folder / "state_dict.pth") as source, \
                zipfile.ZipFile(self.folder / "compressed.pth", "w", zipfile.ZIP_DEFLATED) as target:
            for entry in source.infolist():
                target.writestr(entry.filename, source.read(entry))
        torch.export.save(torch.export.export(self.net, (self.inputs,)), self.folder / "package.pt2")
        for name in ("net.pt", "state_dict.pth", "legacy.pth", "weights.safetensors"):
            content = (self.folder / name).read_bytes()
            self.write(f"cut_{name}", content[:len(content) * 2 // 3])


def make(folder: Path) -> None:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    with torch.no_grad():
        fixtures = Fixtures(folder)
        fixtures.expect("net", fixtures.net)
        fixtures.expect("other", fixtures.other)
        fixtures.models()
        fixtures.weights()
        fixtures.hostile()
        fixtures.other_kinds()
