# SPDX-License-Identifier: Apache-2.0
"""Tally beside PyTorch on one GPU: image networks and GPT-2 with random weights over random HDF5 files in the page cache.

Rates are images, or rows of TOKENS tokens, per second without the first batch. Packages are models that are compiled for this GPU; families
are networks of timm that nothing was tuned for.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rate_files import FAMILIES, PACKAGES, SCRIPTS, NeededFiles, name_of, prepare
from recording import Figures

LOOP = "PyTorch's loop, ResNet-50 bf16, batches of 256"


class Rates:
    def __init__(self, tally: str, folder: Path, figures: Figures) -> None:
        self._tally, self._folder, self._figures = tally, folder, figures

    def record(self, name: str, measure: Callable[[], float]) -> None:
        self._figures.attempt(name, measure, "images/s")

    def run(self, model: str, batch: int, *options: object, data: str = "images.h5") -> dict:
        """The report of an evaluation."""
        output = self._folder / "result"
        words = [self._tally, "evaluate", "--model", self._folder / model, "--data", self._folder / data]
        words += ["--device", "cuda", "--batch-size", batch, "--output", output, "--overwrite", "--progress", "off"]
        done = subprocess.run(list(map(str, [*words, *options])), capture_output=True, text=True, check=False, timeout=90)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        if notes := done.stderr.strip():
            print(notes, flush=True)
        return json.loads((output / "report.json").read_text())

    def tally(
        self, what: str, model: str, batch: int, *options: object, data: str = "images.h5", unit: str = "images/s"
    ) -> None:
        name = name_of(what, batch)
        if not self._figures.wants(name):
            return
        with self._figures.or_failure(name):
            report = self.run(model, batch, *options, data=data)
            timing, environment = report["timing"], report["environment"]
            self._figures.add(
                name, float(timing["steady_samples_per_s"]), unit, startup_s=round(timing["startup_s"], 2),
                wall_s=round(timing["wall_s"], 2), graph=environment.get("cuda_graph"),
                form=environment.get("model_form"), state=report["digests"]["state"][:12],
            )  # fmt: skip

    def traced(self, model: str, batch: int, *options: object) -> None:
        """What the device does with a batch, and how long it waits between two forward passes."""
        file = self._folder / "trace.json"
        if not self._figures.wants("trace"):
            return
        with self._figures.or_failure("trace"):
            self.run(model, batch, *options, "--trace", file)
            spans = [span for span in json.loads(file.read_text())["traceEvents"] if span.get("cat") == "device"]
            for name in ("copy", "prepare", "forward", "metrics"):
                found = sorted(span["dur"] for span in spans if span["name"] == name)
                self._figures.add(f"trace: {name} of a batch of {batch}", found[len(found) // 2] / 1e3, "ms", of=len(found))
            forwards = sorted((span for span in spans if span["name"] == "forward"), key=lambda span: span["ts"])
            gaps = sorted(b["ts"] - a["ts"] - a["dur"] for a, b in itertools.pairwise(forwards))
            self._figures.add("trace: between two forward passes", gaps[len(gaps) // 2] / 1e3, "ms")


def of_pytorch(rates: Rates, figures: Figures, folder: Path) -> None:
    import torch
    from torch_rates import (
        FusedResNet50,
        first_convolution_ms,
        frozen,
        fused_keeps_nan,
        kernel_times,
        loop_rate,
        network,
        resident_rate,
    )

    bf16, fp32 = torch.bfloat16, torch.float32

    def resident(what: str, network: Callable[[], Callable], dtype: torch.dtype, batch: int = 256) -> None:
        rates.record(f"{what}, resident batch of {batch}", lambda: resident_rate(network(), batch, dtype))

    resident("PyTorch, ResNet-50 bf16", lambda: network("resnet50", bf16), bf16)
    for batch in (256, 1024):
        resident("cuDNN fused, ResNet-50 bf16", lambda: FusedResNet50(bf16), bf16, batch)
    for channels in (3, 4, 8):
        figures.attempt(f"first convolution, {channels} channels, batch of 256", lambda c=channels: first_convolution_ms(c), "ms")
    figures.attempt("first convolution, 2 x 2 pixels as 16 channels, batch of 256",
                    lambda: first_convolution_ms(16, side=115, window=4, stride=1, padding=0), "ms")  # fmt: skip
    for name, dtype in (("bf16", bf16), ("fp16", torch.float16), ("fp32", fp32)):
        figures.attempt(f"cuDNN fused keeps NaN, {name}", lambda dtype=dtype: str(fused_keeps_nan(dtype)))
    figures.attempt("kernels of ResNet-50 bf16, fused, ms of a batch of 256",
                    lambda: str(kernel_times(FusedResNet50(bf16), 256, bf16)))  # fmt: skip
    rates.record(LOOP,
                 lambda: loop_rate(network("resnet50", bf16), bf16, folder / "images.h5", 256))  # fmt: skip
    for name, tf32 in (("tf32", True), ("fp32", False)):
        torch.backends.cudnn.allow_tf32 = tf32
        resident(f"PyTorch, ResNet-50 {name}", lambda: network("resnet50", fp32), fp32)
        resident(f"cuDNN fused, ResNet-50 {name}", lambda: FusedResNet50(fp32), fp32)
    for title, name in (("ResNet-18", "resnet18"), ("ViT-B/16", "vit_b_16")):
        resident(f"PyTorch, {title} bf16", lambda name=name: network(name, bf16), bf16)
    for mode in ("default", "max-autotune-no-cudagraphs"):
        for title, name in (("ResNet-50", "resnet50"), ("ViT-B/16", "vit_b_16")):
            resident(f"torch.compile ({mode}), {title} bf16",
                     lambda name=name, mode=mode: torch.compile(network(name, bf16), mode=mode), bf16)  # fmt: skip
    resident("TorchScript, frozen, ResNet-50 bf16", lambda: frozen("resnet50", bf16), bf16)


def of_tally(rates: Rates | NeededFiles) -> None:
    for batch in (256, 1024):
        rates.tally("ResNet-50 bf16", "resnet50.pt", batch, "--precision", "bf16")
    rates.traced("resnet50.pt", 256, "--precision", "bf16")
    rates.tally("ResNet-50 bf16", "resnet50.pt", 64, "--precision", "bf16")
    rates.tally("ResNet-50 bf16, tuned", "resnet50.pt", 256, "--precision", "bf16", "--tune")
    rates.tally("ResNet-50 amp-bf16", "resnet50.pt", 256, "--precision", "amp-bf16", "--limit", 16384)
    rates.tally("ResNet-50 tf32", "resnet50.pt", 256, "--precision", "tf32", "--limit", 16384)
    rates.tally("ResNet-50 fp32", "resnet50.pt", 256, "--limit", 8192)
    rates.tally("ResNet-18 bf16", "resnet18.pt", 256, "--precision", "bf16")
    rates.tally("ViT-B/16 bf16", "vit_b_16.pt", 256, "--precision", "bf16", "--limit", 16384)
    for graphs in ("off", "auto"):
        rates.tally(f"ResNet-18 of 32 x 32 fp32, graphs {graphs}", "resnet18-32.pt", 64, "--cuda-graphs", graphs, data="small.h5")
        for batch in (16, 64):
            rates.tally(f"GPT-2 bf16, graphs {graphs}", "gpt2.pt", batch, "--precision", "bf16", "--cuda-graphs", graphs,
                        data="text.h5", unit="rows/s")  # fmt: skip


def of_packages(rates: Rates | NeededFiles) -> None:
    for form, file in (("any batch", "bf16"), ("batches of 256", "bf16-256")):
        rates.tally(f"ResNet-50 bf16, package ({form})", f"resnet50-{file}.pt2", 256)
    rates.tally("ViT-B/16 bf16, package (any batch)", "vit_b_16-bf16.pt2", 256, "--limit", 16384)
    rates.tally("ResNet-18 of 32 x 32 fp32, package", "resnet18-32-fp32.pt2", 64, data="small.h5")
    for name in FAMILIES:
        rates.tally(f"{name} bf16, package (any batch)", f"timm:{name}-bf16.pt2", 256, "--limit", 16384)


def of_families(rates: Rates | NeededFiles) -> None:
    import timm
    import torch
    from torch_rates import resident_rate

    for name in FAMILIES:
        rates.tally(f"{name} bf16", f"timm:{name}.pt", 256, "--precision", "bf16", "--limit", 16384)

        def network(name: str = name) -> torch.nn.Module:
            return timm.create_model(name).eval().to("cuda", torch.bfloat16, memory_format=torch.channels_last)

        def resident(form: Callable[[torch.nn.Module], Callable], network: Callable = network) -> float:
            return resident_rate(form(network()), 256, torch.bfloat16)

        rates.record(f"PyTorch, {name} bf16, resident batch of 256", lambda resident=resident: resident(lambda net: net))
        rates.record(f"torch.compile (default), {name} bf16, resident batch of 256",
                     lambda resident=resident: resident(torch.compile))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tally", required=True)
    parser.add_argument("--figures", type=Path, required=True, help="JSON lines are added to this file")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / f"tally-rates-{os.getuid()}")
    parser.add_argument("--what", choices=("networks", "packages", "families"), default="networks")
    parser.add_argument("--images", type=int, default=32768, help="of 224 x 224 in the data set")
    parser.add_argument("--only", default="", help="a regular expression: figures with such names")
    options = parser.parse_args()
    families = {f"timm:{name}.pt": [] for name in FAMILIES}
    models, measure = {
        "networks": (SCRIPTS, of_tally),
        "packages": (PACKAGES, of_packages),
        "families": (families, of_families),
    }[options.what]
    figures = Figures(options.figures, options.only)
    needed = NeededFiles(figures)
    measure(needed)
    if options.what == "networks" and figures.wants(LOOP):
        needed.names.add("images.h5")
    prepare(options.folder, models, options.images, needed.names)
    rates = Rates(options.tally, options.folder, figures)
    measure(rates)
    if options.what == "networks":
        of_pytorch(rates, figures, options.folder)
    sys.exit(1 if figures.num_failed else 0)


if __name__ == "__main__":
    main()
