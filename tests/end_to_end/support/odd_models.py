# SPDX-License-Identifier: Apache-2.0
"""Model and weights files that tally must refuse, and models that fail on a marked sample."""

import json
import os
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import small
import torch
from safetensors.torch import save_file
from torch import nn

# After normalisation green 255 is 3.0 and the brightest other pixel (small.MAX_PIXEL) 1.92.
class Marking(nn.Module):
    """TinyNet whose logits for a bright sample hold `mark` in class 3, or in all classes."""

    def __init__(self, mark: float, last_class: int = 3) -> None:
        super().__init__()
        self.net = small.TinyNet()
        self.mark = mark
        self.first_class = 3 if last_class == 3 else 0
        self.last_class = last_class

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        logits = self.net(image)
        bright = image.amax(dim=(1, 2, 3)) > 2.5
        part = logits[:, self.first_class : self.last_class + 1]
        part[bright] = self.mark
        return logits


class Slow(nn.Module):
    """TinyNet over and over, so that a batch takes its time."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.net = small.TinyNet()
        self.rounds = rounds

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        logits = self.net(image)
        for _ in range(self.rounds):
            logits = self.net(image + 0.0 * logits.mean())  # depends on the last round: none is left out
        return logits


def rounds_that_take(seconds: float) -> int:
    """How many rounds of Slow take so long on one thread of this machine, for 8 samples of the synthetic set. Machines
    differ by a factor of six."""
    model = torch.jit.script(Slow(rounds=200).eval())
    images = torch.zeros(8, 3, small.HEIGHT, small.WIDTH)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.inference_mode():
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            model(images)
            times.append(time.perf_counter() - begin)
    torch.set_num_threads(threads)
    return max(1, int(200 * seconds / min(times)))


class SlowOnBright(nn.Module):
    """Takes ten times as long where it sees a bright sample."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.net = Slow(rounds)
        self.ten = Slow(10 * rounds)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        if bool(image.max() > 2.5):
            return self.ten(image)
        return self.net(image)


class Raising(nn.Module):
    """Slow, but raises when it sees a bright sample."""

    def __init__(self, rounds: int = 0) -> None:
        super().__init__()
        self.net = Slow(rounds)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        if bool(image.max() > 2.5):
            raise RuntimeError("a bright sample")
        return self.net(image)


class FlatNet(nn.Module):
    """Takes images of 16 x 16 only."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3 * 16 * 16, small.NUM_CLASSES)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.linear(image.flatten(1))


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = small.TinyNet()

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = self.net(image)
        return logits, logits


class OneRow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = small.TinyNet()

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.net(image)[:1]


class PerPixel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, small.NUM_CLASSES, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.conv(image)


class Argmax(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = small.TinyNet()

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.net(image).argmax(1)


@dataclass(frozen=True)
class BadModel:
    """What writes the file, and what the error line must name besides the file."""

    make: Callable[[Path], object]
    texts: tuple[str, ...] = ()


def save_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "no model")


def save_truncated(path: Path) -> None:
    small.save_model(small.TinyNet(), path)
    os.truncate(path, path.stat().st_size * 2 // 3)


def save_with_card(path: Path, **changes: object) -> None:
    small.save_model(small.TinyNet(), path, json.dumps(small.card(**changes)))


STATE = small.TinyNet().state_dict
TWO_INPUTS = [{"name": name, "dtype": "float32", "shape": ["batch", 3, 8, 8]} for name in ("image", "depth")]

BAD_MODELS: dict[str, BadModel] = {
    "missing": BadModel(lambda path: None),
    "folder": BadModel(lambda path: path.mkdir()),
    "named_pipe": BadModel(os.mkfifo),
    "empty": BadModel(lambda path: path.touch()),
    "text": BadModel(lambda path: path.write_text("no model\n" * 50)),
    "zip": BadModel(save_zip),
    "truncated": BadModel(save_truncated),
    "state_dict": BadModel(lambda path: torch.save(STATE(), path), ("state_dict",)),
    "legacy_state_dict": BadModel(lambda path: torch.save(STATE(), path, _use_new_zipfile_serialization=False)),
    "pickled_module": BadModel(lambda path: torch.save(small.TinyNet(), path)),
    "safetensors": BadModel(lambda path: save_file(STATE(), path), ("safetensors",)),
    "data_set": BadModel(lambda path: small.make_set(5).write(path), ("HDF5",)),
    "other_channels": BadModel(lambda path: small.save_model(small.TinyNet(channels=1), path)),
    "other_size": BadModel(lambda path: small.save_model(FlatNet(), path)),
    "more_classes": BadModel(lambda path: small.save_model(small.TinyNet(num_classes=9), path), ("9", "7")),
    "two_outputs": BadModel(lambda path: small.save_model(Pair(), path)),
    "one_row": BadModel(lambda path: small.save_model(OneRow(), path)),
    "per_pixel": BadModel(lambda path: small.save_model(PerPixel(), path)),
    "no_scores": BadModel(lambda path: small.save_model(Argmax(), path)),
    "card_is_no_json": BadModel(lambda path: small.save_model(small.TinyNet(), path, "{broken")),
    "card_of_the_future": BadModel(lambda path: save_with_card(path, tally_card=99), ("tally_card",)),
    "card_names_unknown_input": BadModel(lambda path: save_with_card(path, inputs=TWO_INPUTS), ("depth",)),
}


def other_names() -> dict[str, torch.Tensor]:
    return {f"other.{name}": tensor for name, tensor in STATE().items()}


def other_shapes() -> dict[str, torch.Tensor]:
    return small.TinyNet(num_classes=9).state_dict()


def half_of_safetensors(path: Path) -> None:
    save_file(STATE(), path)
    os.truncate(path, path.stat().st_size // 2)


BAD_WEIGHTS: dict[str, BadModel] = {
    "missing.pth": BadModel(lambda path: None),
    "text.pth": BadModel(lambda path: path.write_text("no weights\n")),
    "text.safetensors": BadModel(lambda path: path.write_text("no weights, but longer than eight bytes\n")),
    "model.pt": BadModel(lambda path: small.save_model(small.TinyNet(), path)),
    "names.pth": BadModel(lambda path: torch.save(other_names(), path), ("conv.weight",)),
    "names.safetensors": BadModel(lambda path: save_file(other_names(), path), ("conv.weight",)),
    "shapes.pth": BadModel(lambda path: torch.save(other_shapes(), path), ("linear.weight",)),
    "half.safetensors": BadModel(half_of_safetensors),
}
