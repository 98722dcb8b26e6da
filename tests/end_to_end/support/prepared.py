# SPDX-License-Identifier: Apache-2.0
"""Real data sets and models as a user makes them: by the tools of data_tools, kept in a cache."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import convert_weights
import torch
from safetensors.torch import save_file

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ROOT / "data_tools"
SUPPORT = ROOT / "tests" / "support"

RAW_WEIGHTS = {
    "mnist_convnet": "mnist-convnet/mnist_cnn",
    "cifar_resnet20": "cifar10-nets/resnet20-12fca82f",
    "cifar_resnet32": "cifar10-nets/resnet32-d509ac18",
    "squeezenet1_1": "imagenet-weights/squeezenet_v1.1",
}


class Cache:
    """Files that are made once for the state of the tools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        sources = sorted([*TOOLS.rglob("*.py"), *SUPPORT.glob("*.py")])
        self._tools = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]

    def tool(self, name: str, *command: object) -> Path:
        """Made by a program of data_tools."""

        def run(path: Path) -> None:
            words = [sys.executable, *command, "--output", path]
            # What the compiler finds out about this machine is found out once.
            env = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor")}
            made = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=env)
            assert made.returncode == 0, f"{words}\n{made.stdout}\n{made.stderr}"

        return self.made(name, run)

    def made(self, name: str, make: Callable[[Path], None]) -> Path:
        """A file name stands for what it is made from and how."""
        path = self.folder / self._tools / name
        with locked(self.folder / f"{name}.lock"):
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                temporary = path.with_name(f"partial-{name}")
                remove(temporary)
                make(temporary)
                temporary.rename(path)
        return path


class Prepared:
    """Files by network."""

    def __init__(self, data_dir: Path, cache_dir: Path) -> None:
        self.data_dir = data_dir
        self._cache = Cache(cache_dir)
        self._tool = self._cache.tool

    def data_of(self, network: str) -> Path:
        if network == "mnist_convnet":
            return self._tool("mnist.h5", TOOLS / "prepare_mnist.py", "--input", self.data_dir / "mnist")
        if network == "squeezenet1_1":
            folder = self.data_dir / "imagenet-val-1300"
            return self._tool(
                "imagenet.h5", TOOLS / "prepare_imagefolder.py", "--input", folder / "ILSVRC2012_VAL_SET.tar",
                "--labels", folder / "val.txt", "--num-classes", "1000",
            )  # fmt: skip
        images = self.data_dir / "cifar10-test1000" / "test_batch_first1000.bin"
        return self._tool("cifar10.h5", TOOLS / "prepare_cifar10.py", "--input", images)

    def half_normalised_cifar(self) -> Path:
        images = self.data_dir / "cifar10-test1000" / "test_batch_first1000.bin"
        words = [TOOLS / "prepare_cifar10.py", "--input", images, "--mean", "0.5", "--std", "0.5"]
        return self._tool("cifar10-half.h5", *words)

    def weights(self, network: str, suffix: str) -> Path:
        """The trained weights as a state_dict file, .pth or .safetensors."""

        def convert(path: Path) -> None:
            state = convert_weights.convert(network, self.data_dir / RAW_WEIGHTS[network])
            save_file(state, path) if suffix == ".safetensors" else torch.save(state, path)

        return self._cache.made(f"{network}{suffix}", convert)

    def untrained_model(self, network: str) -> Path:
        return self._tool(f"{network}-untrained.pt", *self._export(network))

    def trained_model(self, network: str) -> Path:
        weights = self.weights(network, ".pth")
        return self._tool(f"{network}.pt", *self._export(network), "--weights", weights)

    def half_normalised_model(self, network: str) -> Path:
        """With its trained weights, and a mean and deviation that they were not trained with."""
        words = [*self._export(network), "--weights", self.weights(network, ".pth"), "--mean", "0.5", "--std", "0.5"]
        return self._tool(f"{network}-half.pt", *words)

    def rounded_model(self, network: str) -> Path:
        """TorchScript in bfloat16 with its trained weights."""
        words = [*self._export(network), "--weights", self.weights(network, ".pth"), "--precision", "bf16"]
        return self._tool(f"{network}-bf16.pt", *words)

    def package(self, network: str, precision: str = "fp32", device: str = "cpu") -> Path:
        """Compiled with its trained weights."""
        words = [*self._export(network, "pt2"), "--weights", self.weights(network, ".pth"), "--precision", precision]
        return self._tool(f"{network}-{precision}-{device}.pt2", *words, "--device", device)

    def onnx(self, network: str) -> Path:
        """With its trained weights."""
        words = [*self._export(network, "onnx"), "--weights", self.weights(network, ".pth")]
        return self._tool(f"{network}.onnx", *words)

    def swappable_package(self, network: str) -> Path:
        """Compiled with random weights."""
        return self._tool(f"{network}-swappable.pt2", *self._export(network, "pt2"), "--swappable")

    @staticmethod
    def _export(network: str, form: str = "torchscript") -> list[object]:
        source = f"{SUPPORT / 'models.py'}:{network}"
        return [TOOLS / "export_model.py", "--model", source, "--format", form]


def remove(path: Path) -> None:
    """A file, or a folder with all that is in it."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Test files may run side by side."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
