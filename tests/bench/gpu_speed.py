"""Tally against PyTorch on one GPU, in one run: ResNet-18 and ResNet-50 over random images from an HDF5 file.

Both read the same file, which lies in the page cache, and count accuracy and top-5. Steady rates, in images per second,
are without the first batch; the table also says what eager PyTorch reaches on a batch that stays on the GPU.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
import torch
import torchvision

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "data_tools"))

CLASSES = 1000
SCALE, MEAN, STD = 1 / 255, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def write_data(path: Path, num_samples: int, side: int = 224) -> None:
    random = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        file.attrs["tally_schema"] = np.int64(1)
        file.attrs["task"] = "multiclass"
        file.attrs["num_classes"] = np.int64(CLASSES)
        image = file.create_dataset("/inputs/image", (num_samples, side, side, 3), "u1")
        for first in range(0, num_samples, 256):
            image[first : first + 256] = random.integers(0, 256, image[first : first + 256].shape, "u1")
        image.attrs.update({"layout": "HWC", "channels": "RGB", "scale": SCALE, "mean": MEAN, "std": STD})
        file["/targets/label"] = random.integers(0, CLASSES, num_samples)


def export(model: str, form: str, precision: str, folder: Path, side: int = 224) -> Path:
    path = folder / f"{model}-{side}-{precision}.{'pt2' if form == 'pt2' else 'pt'}"
    words = ["--model", model, "--format", form, "--precision", precision, "--output", path]
    words += ["--input-shape", f"3,{side},{side}"]
    words += ["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"]
    words += ["--device", "cuda"] if form == "pt2" else []
    subprocess.run([sys.executable, ROOT / "data_tools" / "export_model.py", *map(str, words)], check=True)
    return path


def tally_rate(tally: str, model: Path, data: Path, batch: int, folder: Path, graphs: str = "auto") -> dict:
    output = folder / "result"
    words = ["--model", model, "--data", data, "--device", "cuda", "--batch-size", batch, "--output", output]
    words += ["--cuda-graphs", graphs]
    subprocess.run(
        [tally, "evaluate", *map(str, words), "--overwrite", "--progress", "off"], check=True, stdout=subprocess.DEVNULL
    )
    report = json.loads((output / "report.json").read_text())
    timing = report["timing"]
    rate = {"steady_per_s": timing["steady_samples_per_s"], "startup_s": timing["startup_s"], "wall_s": timing["wall_s"]}
    return rate | {"cuda_graph": report["environment"]["cuda_graph"]}


def small_rates(tally: str, num_samples: int, folder: Path) -> dict:
    """Bound by launching: ResNet-18 on 64 images of 32x32 pixels, with and without replaying its forward pass."""
    data = folder / "small.h5"
    write_data(data, num_samples, 32)
    rates = {}
    for form in ("torchscript", "pt2"):
        exported = export("resnet18", form, "fp32", folder, 32)
        for graphs in ("off", "auto"):
            rates[f"tally, {form}, {graphs}"] = tally_rate(tally, exported, data, 64, folder, graphs)
    return rates


def prepared_model(name: str, dtype: torch.dtype) -> torch.nn.Module:
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None).eval()
    return model.to("cuda", dtype, memory_format=torch.channels_last)


@torch.inference_mode()
def model_alone(name: str, dtype: torch.dtype, batch: int) -> float:
    model = prepared_model(name, dtype)
    images = torch.randn(batch, 3, 224, 224, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
    for _ in range(5):
        model(images)
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(20):
        model(images)
    torch.cuda.synchronize()
    return 20 * batch / (time.perf_counter() - started)


@torch.inference_mode()
def torch_rate(name: str, dtype: torch.dtype, data: Path, batch: int) -> dict:
    """A plain loop done with care: pinned batches, channels-last, counters on the GPU; it reads in its own thread."""
    model = prepared_model(name, dtype)
    mean = torch.tensor(MEAN, device="cuda").view(1, 3, 1, 1)
    std = torch.tensor(STD, device="cuda").view(1, 3, 1, 1)
    correct = torch.zeros(2, dtype=torch.int64, device="cuda")
    started, counted = 0.0, 0
    with h5py.File(data) as file:
        image, label = file["/inputs/image"], file["/targets/label"]
        for first in range(0, len(image), batch):
            pixels = torch.from_numpy(image[first : first + batch]).pin_memory().to("cuda", non_blocking=True)
            target = torch.from_numpy(label[first : first + batch]).to("cuda", non_blocking=True)
            normal = ((pixels.permute(0, 3, 1, 2).float() * SCALE - mean) / std).to(dtype)
            top = model(normal.contiguous(memory_format=torch.channels_last)).topk(5).indices
            hits = top == target[:, None]
            correct += torch.stack([hits[:, 0].sum(), hits.sum()])
            if first == 0:
                torch.cuda.synchronize()
                started = time.perf_counter()
            else:
                counted += len(target)
        correct.tolist()
    return {"steady_per_s": counted / (time.perf_counter() - started)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tally", required=True)
    parser.add_argument("--output", required=True, type=Path, help="JSON file")
    parser.add_argument("--samples", type=int, default=16384)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--small-samples", type=int, default=65536, help="of 32x32 pixels, default %(default)s")
    options = parser.parse_args()
    found = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "samples": options.samples,
             "batch_size": options.batch_size, "rates": {}}  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "random.h5"
        write_data(data, options.samples)
        for model in ("resnet18", "resnet50"):
            for precision, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
                rates = {
                    "model alone, eager": {"steady_per_s": model_alone(model, dtype, options.batch_size)},
                    "PyTorch loop": torch_rate(model, dtype, data, options.batch_size),
                }
                for form in ("torchscript", "pt2"):
                    exported = export(model, form, precision, folder)
                    rates[f"tally, {form}"] = tally_rate(options.tally, exported, data, options.batch_size, folder)
                found["rates"][f"{model} {precision}"] = rates
                for what, rate in rates.items():
                    print(f"{model} {precision:5} {what:20} {rate['steady_per_s']:9.0f} images/s", flush=True)
        found["rates"]["resnet18 of 32x32 fp32"] = rates = small_rates(options.tally, options.small_samples, folder)
        for what, rate in rates.items():
            print(f"resnet18 of 32x32 {what:20} {rate['steady_per_s']:9.0f} images/s, {rate['cuda_graph']}", flush=True)
    options.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
