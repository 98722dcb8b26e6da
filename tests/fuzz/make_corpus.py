#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the corpus of the fuzz tests again, each file by the package or tool that users have, as small as it gets.

usage: make_corpus.py BUILD      a build with tests, in which tests/weights and tests/model have written their fixtures

Files whose names begin with "refused" or "by_hand" are not touched: they once broke a parser, or no tool writes them.
"""

import hashlib
import json
import shutil
import struct
import sys
import tempfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(TESTS.parent / "data_tools")]
sys.path[:0] = [str(TESTS / folder) for folder in ("support", "end_to_end", "end_to_end/support")]

import h5py  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

CORPUS, COMPANIONS = HERE / "corpus", HERE / "companions"


def put(parser: str, name: str, content: bytes | str | Path) -> None:
    path = CORPUS / parser / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path):
        content = content.read_bytes()
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def states() -> dict[str, object]:
    weight = torch.arange(6.0).reshape(2, 3)
    plain = {"fc.weight": weight, "fc.bias": torch.tensor([1, 2], dtype=torch.int64)}
    return {
        "plain": plain,
        "nested": {"epoch": 3, "best": 0.5, "note": "é", "state_dict": plain, "optimizer": {"lr": [1e-3, None, True]}},
        "strided": {"t": weight.t(), "half": weight.bfloat16()[:, 1:]},
        "parameters": {"p": torch.nn.Parameter(weight)},
    }


def write_checkpoints(scratch: Path, build: Path) -> None:
    import huggingface_hub
    import safetensors.torch
    import torch.distributed.checkpoint as dcp
    import zipfile

    for name, state in states().items():
        for zipped in (True, False):
            file = scratch / f"{name}.pth"
            torch.save(state, file, _use_new_zipfile_serialization=zipped)
            put("torch_save", f"{name}{'' if zipped else '.legacy'}", file)
            if zipped:
                put("zip", name, file)
                with zipfile.ZipFile(file) as archive:
                    put("pickle", name, archive.read(f"{name}/data.pkl"))
    plain = states()["plain"]
    safetensors.torch.save_file(plain, scratch / "m.safetensors", metadata={"format": "pt"})
    put("safetensors", "plain", scratch / "m.safetensors")
    put("safetensors", "no_tensors", struct.pack("<Q", 2) + b"{}")
    for path in COMPANIONS.glob("*"):
        shutil.rmtree(path)
    COMPANIONS.mkdir(exist_ok=True)
    (COMPANIONS / "shards").mkdir()
    huggingface_hub.save_torch_state_dict(plain, COMPANIONS / "shards", max_shard_size=20)
    put("weights_index", "two_shards", COMPANIONS / "shards" / "model.safetensors.index.json")
    dcp.save({"model": plain, "step": 7}, checkpoint_id=str(COMPANIONS / "dcp"), no_dist=True)
    put("dcp_metadata", "two_tensors", COMPANIONS / "dcp" / ".metadata")
    put("dcp_chunks", "two_tensors", COMPANIONS / "dcp" / "__0_0.distcp")
    trained = COMPANIONS / "deepspeed"
    shutil.copytree(build / "tests/weights/checkpoints/deepspeed-2/stage2_bf16", trained)
    for script in trained.glob("zero_to_*.py"):
        script.unlink()
    step = trained / "global_step3"
    put("deepspeed_model", "stage2", step / "mp_rank_00_model_states.pt")
    put("deepspeed_optimizer", "stage2", step / "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt")


def write_package(build: Path, scratch: Path) -> None:
    """A compiled model's, with a few bytes in the place of its library."""
    reader = torch._C.PyTorchFileReader(str(build / "tests/model/packages/frozen.pt2"))
    library = b"\x7fELF" + bytes(60)
    writer = torch._C.PyTorchFileWriter(str(scratch / "small.pt2"))
    for entry in reader.get_all_records():
        if entry.endswith(".cpp") or entry in (".data/serialization_id", "version", "byteorder"):
            continue
        content = library if entry.endswith(".so") else bytes(reader.get_record(entry))
        if entry.endswith("_metadata.json"):
            metadata = json.loads(content)
            card = json.loads(metadata["tally"])
            card["package"]["library_sha256"] = hashlib.sha256(library).hexdigest()
            put("card", "package.json", json.dumps(card))
            content = json.dumps(metadata | {"tally": json.dumps(card)}).encode()
        writer.write_record(entry, content, len(content))
    writer.write_end_of_file()
    put("package", "small.pt2", scratch / "small.pt2")


def write_cards(build: Path) -> None:
    put("card", "net.json", build / "tests/model/fixtures/card.json")
    text = (TESTS.parent / "docs/model-card.md").read_text()
    example = json.loads(text[text.index("```json") + 7 :].partition("```")[0])
    example["outputs"][0]["shape"][1] = example["num_classes"] = len(example["class_names"])
    put("card", "recipe.json", json.dumps(example))


def write_arrays(scratch: Path) -> None:
    for dtype in ("<f4", "<f8", "<i4"):
        np.save(scratch / "a.npy", np.arange(10, dtype=dtype).reshape(5, 2))
        put("npy", dtype[1:], scratch / "a.npy")
    np.save(scratch / "a.npy", np.arange(4, dtype="<i8"))
    put("npy", "classes", scratch / "a.npy")
    put("csv", "scores.csv", "cat,dog\r\n0.25,-1e-3\n\"1.5\", 2 \ninf,nan\n")
    put("csv", "classes.csv", 'prediction\n"0"\n1\n')
    put("csv", "quoted.csv", '"cat","dog"\n"1","2"\n')


def write_onnx(scratch: Path) -> None:
    import foreign_onnx
    import onnx

    for name, model in {"dense": foreign_onnx.dense(), "branching": foreign_onnx.branching()}.items():
        for parted in (False, True):
            file = scratch / f"{name}.onnx"
            onnx.save(model, file, save_as_external_data=parted, location="weights.bin", size_threshold=0, convert_attribute=True)
            put("onnx_weights", f"{name}{'.parted' if parted else ''}", file)
            (scratch / "weights.bin").unlink(missing_ok=True)


def write_texts() -> None:
    boxes = [{"image_id": 7, "category_id": 2, "bbox": [1.5, 2, 30, 40.25], "score": 0.75, "segmentation": [[1, 2]]}]
    put("coco_results", "one.json", json.dumps(boxes))
    put("coco_results", "two.json", json.dumps([boxes[0], {**boxes[0], "score": 1e-9, "area": None}], indent=1))
    put("coco_results", "none.json", "[]")
    answers = {"q2": "1889", "q3": "東\u0301", "é": "", "5733be28": 'says "no"'}
    put("saved_texts", "answers.json", json.dumps(answers))
    put("saved_texts", "utf8.json", json.dumps(answers, ensure_ascii=False, indent=2))
    put("config_file", "run.cfg", "model = m.pt\ndata = d.h5\nbatch-size = 32\nmetrics = top1,top5\n# a comment\nsave = topk\n")
    put("config_file", "more.cfg", "model=m.pt\r\ndata=d.h5\r\ngather-window = 1GiB\nlimit = 10\ndevice = cpu\nseed = 7\n")
    put("watchdog_messages", "hello.json", json.dumps({"host": "node2", "node": 1, "token": "0123456789abcdef"}) + "\n")
    report = {"phase": "evaluate", "object": "data set 'val.h5', samples 0 to 63", "failure_code": 0, "has_left": False}
    summary = {"all_wait": False, "fewest_waits": 41, "longest_step_s": 0.25, "progress": 5120, "rank_behind": 3}
    put("watchdog_messages", "node.json", json.dumps(report | summary | {"paces": [[2, 640, 1.5], [3, 576, 1.5]]}) + "\n")
    put("watchdog_messages", "job.json", json.dumps({"failure_code": 8, "has_left": True, "longest_step_s": 0.25}) + "\n")
    shards = [{"file": "a.h5", "rows": 3, "identity": "0" * 64}, {"file": "b.h5", "rows": 2}]
    index = {"tally_shards": 1, "task": "multiclass", "num_samples": 5, "shards": shards}
    put("data_shards", "two.json", json.dumps(index))


def write_chunks() -> None:
    """As HDF5 stores them, behind the two bytes that name the filters."""
    values = np.arange(300, dtype="<f4")
    with h5py.File("chunks", "w", driver="core", backing_store=False) as file:
        for filters in range(1, 8):
            options = {"shuffle": bool(filters & 1), "fletcher32": bool(filters & 4)}
            compression = {"compression": "gzip"} if filters & 2 else {}
            data = file.create_dataset(str(filters), data=values, chunks=(300,), **options, **compression)
            left_out, stored = data.id.read_direct_chunk((0,))
            put("chunk_decoder", f"filters_{filters}", bytes([filters, left_out]) + stored)
    put("chunk_decoder", "left_out", bytes([2, 1]) + values.tobytes())
    put("chunk_decoder", "noise", bytes([2, 0]) + zlib.compress(np.random.default_rng(1).bytes(1200)))


def write_records() -> None:
    """Samples 0 to 3, of a label, a text and boxes each; tests/fuzz/progress_records_fuzzer.cpp makes a frame of them."""
    labels, lengths = struct.pack("<3q", 5, 0, 9), struct.pack("<3q", 2, 0, 3)
    boxes = struct.pack("<3q", 0, 1, 1) + struct.pack("<8f", *range(8))
    put("progress_records", "three", struct.pack("<2q", 0, 3) + labels + lengths + b"abcde" + boxes)


def main() -> None:
    build = Path(sys.argv[1]).resolve()
    for path in CORPUS.glob("*/*"):
        if not path.name.startswith(("refused", "by_hand")):
            path.unlink()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write_checkpoints(scratch, build)
        write_package(build, scratch)
        write_cards(build)
        write_arrays(scratch)
        write_onnx(scratch)
        write_texts()
        write_chunks()
        write_records()
        import corpus_of_runs

        corpus_of_runs.write(scratch, build, put)


if __name__ == "__main__":
    main()
