# SPDX-License-Identifier: Apache-2.0
"""The networks and data sets that are measured: real ones where they are at hand, else made from a seed."""

import json
import subprocess
import sys
from pathlib import Path

import h5py
import networks
import numpy as np
import torch
from commands import Case
from prepared import Prepared
from squad_files import SquadFiles
from tally_data import DataSetWriter, ImageEncoding
from torch.utils.flop_counter import FlopCounterMode

ROOT = Path(__file__).resolve().parents[2]
IMAGENET = ImageEncoding("RGB", 1 / 255, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
SIZE = 224
CLASSES = 1000
DTYPES = {"fp32": "float32", "bf16": "bfloat16"}


class Cases:
    def __init__(self, data_dir: Path | None, cache: Path) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        self.cache = cache
        self.real = Prepared(data_dir, cache) if data_dir else None
        self.squad = SquadFiles(data_dir, cache) if data_dir else None

    def random_images(self, num_samples: int, checksums: bool = True, side: int = SIZE) -> Path:
        path = self.cache / f"random-{num_samples}-{side}{'' if checksums else '-unchecked'}.h5"
        if not path.exists():
            rng = np.random.default_rng(0)
            with DataSetWriter(path, task="multiclass", num_classes=CLASSES, num_samples=num_samples,
                               checksums=checksums, overwrite=True) as out:  # fmt: skip
                images = out.add_image("image", height=side, width=side, encoding=IMAGENET)
                for first in range(0, num_samples, 512):  # a set of ImageNet's size does not fit into memory
                    count = min(512, num_samples - first)
                    images.append(rng.integers(0, 256, (count, side, side, 3), dtype=np.uint8))
                out.add_target("label", rng.integers(0, CLASSES, num_samples))
        return path

    def random_texts(self, vocabulary: int, num_samples: int) -> Path:
        path = self.cache / f"texts-{vocabulary}-{num_samples}.h5"
        if not path.exists():
            rng = np.random.default_rng(0)
            tokens = rng.integers(0, vocabulary, (num_samples, networks.TOKENS))
            with DataSetWriter(path, task="multiclass", num_classes=2, num_samples=num_samples, overwrite=True) as out:
                out.add_input("input_ids", dtype="int64", shape=(networks.TOKENS,)).append(tokens)
                out.add_target("label", rng.integers(0, 2, num_samples))
        return path

    def packed_images(self, num_samples: int, rows_per_chunk: int) -> Path:
        """Smooth images with some noise, without checksums, compressed as h5py users do it."""
        path = self.cache / f"packed-{num_samples}-{rows_per_chunk}.h5"
        if not path.exists():
            rng = np.random.default_rng(0)
            slope = rng.integers(0, 2, (num_samples, SIZE, SIZE, 3), dtype=np.int8).cumsum(2, dtype=np.uint8)
            images = slope + rng.integers(0, 4, slope.shape, dtype=np.uint8)
            with DataSetWriter(path, task="multiclass", num_classes=CLASSES, num_samples=num_samples,
                               checksums=False, overwrite=True) as out:  # fmt: skip
                out.add_image("image", height=SIZE, width=SIZE, encoding=IMAGENET, data=images)
                out.add_target("label", rng.integers(0, CLASSES, num_samples))
            with h5py.File(path, "r+") as file:
                attributes = dict(file["/inputs/image"].attrs)
                del file["/inputs/image"]
                chunks = (rows_per_chunk, *images.shape[1:])
                packed = file.create_dataset("/inputs/image", data=images, chunks=chunks, compression="gzip", compression_opts=1)  # fmt: skip
                packed.attrs.update(attributes)
        return path

    def resnet18(self, num_samples: int = 512) -> Case:
        model = self.cache / "resnet18.pt"
        if not model.exists():
            self._export(model, f"{Path(__file__).parent / 'networks.py'}:resnet18")
        return Case("resnet18", model, self.random_images(num_samples), 32)

    def network(self, name: str, precision: str = "fp32") -> Case:
        """Of networks.py: with real data and weights where they are at hand; others are exported in this precision, as
        not all that are traced in float32 can be cast."""
        if self.real is not None and name in networks.models.ALL:
            is_small = name == "mnist_convnet"
            data = self._repeated(self.real.data_of(name), 10) if is_small else self.real.data_of(name)
            return Case(name, self.real.trained_model(name), data, 256 if is_small else 64, self.real.weights(name, ".pth"))
        model = self.cache / f"{name}-{precision}.pt"
        if name in networks.VOCABULARY:
            if not model.exists():
                self._trace_texts(model, name, precision)
            return Case(name, model, self.random_texts(networks.VOCABULARY[name], 256), 16)
        side = networks.side(name)
        if not model.exists():
            self._export(model, f"{Path(__file__).parent / 'networks.py'}:{name}", side, precision)
        return Case(name, model, self.random_images(4096, side=side), 32)

    def _repeated(self, data: Path, times: int) -> Path:
        """The same images again and again: a loop over them once is too short to be timed."""
        path = self.cache / f"{data.stem}-{times}-times.h5"
        if not path.exists():
            with h5py.File(data) as file:
                stored, labels = file["/inputs/image"], file["/targets/label"][:]
                images, attributes = stored[:], stored.attrs
                encoding = ImageEncoding(networks.text(attributes["channels"]), float(attributes["scale"]),
                                         tuple(attributes["mean"]), tuple(attributes["std"]))  # fmt: skip
            with DataSetWriter(path, task="multiclass", num_classes=10, num_samples=times * len(labels), overwrite=True) as out:
                out.add_image("image", height=images.shape[1], width=images.shape[2], encoding=encoding,
                              data=np.tile(images, (times, 1, 1, 1)))  # fmt: skip
                out.add_target("label", np.tile(labels, times))
        return path

    def package(self, case: Case) -> Path | None:
        """The network as .pt2, compiled by Inductor for batches of this size; none where it cannot be."""
        path = self.cache / f"{case.network}-{case.batch_size}.pt2"
        failed = path.with_suffix(".failed")
        if not path.exists() and not failed.exists() and case.network not in networks.VOCABULARY:
            words = [sys.executable, ROOT / "data_tools" / "export_model.py", "--format", "pt2", "--model",
                     f"{Path(__file__).parent / 'networks.py'}:{case.network}", "--batch-size", case.batch_size, "--output", path]  # fmt: skip
            if case.weights:
                words += ["--weights", case.weights]
            else:
                words += ["--input-shape", f"3,{networks.side(case.network)},{networks.side(case.network)}"]
            if subprocess.run(list(map(str, words)), capture_output=True).returncode != 0:
                failed.touch()
        return path if path.exists() else None

    def onnx(self, case: Case) -> Path:
        """For rivals; absent where the network cannot be written so."""
        path = self.cache / f"{case.network}.onnx"
        if not path.exists():
            words = [sys.executable, Path(__file__).with_name("onnx_export.py"), case.network, case.data, path]
            words += [case.weights] if case.weights else []
            subprocess.run(list(map(str, words)), capture_output=True)
        return path

    def a_million(self) -> Case:
        """10^6 samples of 64 numbers, and a network that takes no time."""
        data, model = self.cache / "million.h5", self.cache / "linear.pt"
        if not data.exists():
            rng = np.random.default_rng(0)
            with DataSetWriter(data, task="multiclass", num_classes=10, num_samples=10**6, overwrite=True) as out:
                out.add_input("x", dtype="float32", shape=(64,)).append(
                    rng.standard_normal((10**6, 64), dtype=np.float32)
                )
                out.add_target("label").append(rng.integers(0, 10, 10**6))
            torch.manual_seed(0)
            torch.jit.script(torch.nn.Linear(64, 10)).save(str(model))
        return Case("linear", model, data, 256)

    def texts(self) -> list[Case]:
        """BERT of 2 layers and of the base model's 12, over SQuAD's windows."""
        if self.squad is None:
            return []
        return [Case(f"BERT, {layers} layers", self.squad.bert(layers), self.squad.data(), 16) for layers in (2, 12)]

    @staticmethod
    def num_samples(case: Case) -> int:
        with h5py.File(case.data) as file:
            return len(file["/targets/label"])

    @staticmethod
    def flops(case: Case) -> int:
        """Of one sample: two for each product with the sum that takes it."""
        with h5py.File(case.data) as file:
            height, width, channels = file["/inputs/image"].shape[1:]
        with FlopCounterMode(display=False) as counter, torch.inference_mode():
            networks.make(case.network).eval()(torch.zeros(1, channels, height, width))
        return counter.get_total_flops()

    @staticmethod
    def batch_bytes(case: Case) -> int:
        """Of the inputs as they are stored."""
        with h5py.File(case.data) as file:
            rows = [one.dtype.itemsize * int(np.prod(one.shape[1:])) for one in file["/inputs"].values()]
        return case.batch_size * sum(rows)

    def for_commands(self) -> list[Case]:
        if self.real is None:
            return [self.resnet18()]
        batches = {"mnist_convnet": 256, "squeezenet1_1": 32}
        return [Case(name, self.real.trained_model(name), self.real.data_of(name), batch, self.real.weights(name, ".pth"))
                for name, batch in batches.items()] + [self.resnet18()]  # fmt: skip

    @staticmethod
    def _trace_texts(path: Path, name: str, precision: str) -> None:
        network = networks.make(name).eval()
        if precision == "bf16":
            network = network.bfloat16()
        card = {"tally_card": 1, "fixed_batch": None, "weights": "swappable", "num_classes": 2, "source": {"model": name},
                "inputs": [{"name": "input_ids", "dtype": "int64", "shape": ["batch", networks.TOKENS]}],
                "outputs": [{"name": "logits", "kind": "logits", "dtype": DTYPES[precision], "shape": ["batch", 2]}]}  # fmt: skip
        with torch.no_grad():
            traced = torch.jit.trace(network, torch.zeros((4, networks.TOKENS), dtype=torch.int64), check_trace=False)
        torch.jit.save(traced, path, _extra_files={"tally.json": json.dumps(card)})

    @staticmethod
    def _export(path: Path, source: str, side: int = SIZE, precision: str = "fp32") -> None:
        tool = ROOT / "data_tools" / "export_model.py"
        words = [sys.executable, tool, "--model", source, "--input-shape", f"3,{side},{side}", "--output", path,
                 "--precision", precision]  # fmt: skip
        subprocess.run(list(map(str, words)), check=True, capture_output=True)
