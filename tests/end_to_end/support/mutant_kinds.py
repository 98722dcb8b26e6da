# SPDX-License-Identifier: Apache-2.0
"""Each kind of file that the program reads, and a command that reads it; mutants of it are given to the program."""

import json
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import detection_runs
import h5py
import prepared_squad
import small
import torch
from array_predictions import write_csv, write_npy
from coco_reference import random_case, results_of
from launch import Program
from resumed_runs import ALWAYS, STOPPED, Strike
from safetensors.torch import save_file
from small_squad import V11

ROOT = Path(__file__).resolve().parents[3]
USAGE, DATA, MODEL, OUTPUT, NAN = 2, 3, 4, 6, 7
TEXTS = (b"-1", b"0", b"1e999", b"99999999999999999999", b"9223372036854775807", b"nan", b"null", b"[" * 18, b'{"a":', b'"',
         b"\n", b"\xff", b"\\u0000", b"\x1b[2J")  # fmt: skip


def mutant_of(good: bytes, draw: random.Random) -> bytes:
    """Damaged as disks, networks and people do it, and some who mean harm (tests/support/mutator.hpp)."""
    bad = bytearray(good)
    for _ in range(draw.randint(1, 4)):
        if not bad:
            break
        at, how = draw.randrange(len(bad)), draw.randrange(7)
        if how == 0:
            bad[at] = draw.randrange(256)
        elif how == 1:
            bad[at] ^= 1 << draw.randrange(8)
        elif how == 2:
            del bad[at : at + draw.randint(1, 16)]
        elif how == 3:
            start = draw.randrange(len(bad))
            bad[at:at] = bad[start : start + draw.randrange(32)]
        elif how == 4:
            number = draw.choice([0, 2**64 - 1, draw.randrange(len(bad)), draw.getrandbits(64)])
            field = number.to_bytes(8, "little")[: draw.choice([1, 2, 4, 8])]
            bad[at : at + len(field)] = field
        elif how == 5:
            bad[at : at + draw.randrange(4)] = draw.choice(TEXTS)
        elif draw.random() < 0.3:
            del bad[at:]
    return bytes(bad)


@dataclass(frozen=True)
class Kind:
    """`folder` is what the command finds as {given}, with a mutant in the place of the file `name`."""

    folder: Path
    name: str
    words: tuple[str, ...]  # {given} and {output} stand for folders
    codes: frozenset[int]  # that such a file may end with, beside 0
    # Bytes that checksums are of: those that begin and end here; a change of these alone must not change a metric.
    checked: tuple[tuple[int, int], ...] = ()
    # Whether the run is in the given folder itself, as one that goes on.
    in_place: bool = False
    # Whether each run starts anew: what fork_server.py has no memory files for, or is read before the output is looked at.
    starts_anew: bool = False


def _checked_everywhere(file: Path) -> tuple[tuple[int, int], ...]:
    return ((0, file.stat().st_size),)


def _checked_rows(path: Path) -> tuple[tuple[int, int], ...]:
    """Where the images and labels of a data set lie."""
    ranges = []
    with h5py.File(path) as file:
        for name in ("inputs/image", "targets/label"):
            rows = file[name].id
            if rows.get_offset() is not None:
                ranges.append((rows.get_offset(), rows.get_offset() + rows.get_storage_size()))
            for i in range(rows.get_num_chunks() if rows.get_offset() is None else 0):
                chunk = rows.get_chunk_info(i)
                ranges.append((chunk.byte_offset, chunk.byte_offset + chunk.size))
    return tuple(ranges)


class Maker:
    """Makes the kinds in a folder, once for each build of the program."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.program, self.folder = program, folder
        self._made: dict[str, Kind] = {}
        self.data, self.model = folder / "set.h5", folder / "m.pt"
        samples = small.make_set()
        samples.write(self.data)
        small.save_model(small.TinyNet(), self.model, json.dumps(small.card()))
        self.evaluation = ("evaluate", "--model", str(self.model), "--data", str(self.data), "--progress", "off")
        self.result = folder / "result"
        program(*self.evaluation, "--save", "labels,logits", "--output", self.result).must_succeed()

    def kind(self, name: str) -> Kind:
        if name not in self._made:
            self._made[name] = getattr(self, name)()
        return self._made[name]

    def given(self, kind: str, file: Path) -> Path:
        folder = self.folder / "kinds" / kind
        folder.mkdir(parents=True)
        shutil.copyfile(file, folder / file.name)
        return folder

    def data_set(self) -> Kind:
        folder = self.given("data_set", self.data)
        words = ("evaluate", "--model", str(self.model), "--data", "{given}/set.h5", "--output", "{output}")
        return Kind(folder, "set.h5", words, frozenset({USAGE, DATA, MODEL, NAN}), _checked_rows(self.data))

    def compressed_data_set(self) -> Kind:
        path = self.folder / "packed.h5"
        with h5py.File(self.data) as source, h5py.File(path, "w") as file:
            file.attrs.update(source.attrs)

            def copy(name: str, found: h5py.Group | h5py.Dataset) -> None:
                if isinstance(found, h5py.Group):
                    made = file.require_group(name)
                else:
                    packed = {"chunks": (16, *found.shape[1:]), "compression": "gzip", "shuffle": True}
                    made = file.create_dataset(name, data=found[...], **(packed if found.shape[:1] == (103,) else {}))
                made.attrs.update(found.attrs)

            source.visititems(copy)
        words = ("evaluate", "--model", str(self.model), "--data", "{given}/packed.h5", "--output", "{output}")
        return Kind(self.given("compressed_data_set", path), "packed.h5", words, frozenset({USAGE, DATA, MODEL, NAN}),
                    _checked_rows(path))  # fmt: skip

    def torchscript(self) -> Kind:
        words = ("evaluate", "--model", "{given}/m.pt", "--data", str(self.data), "--output", "{output}")
        return Kind(self.given("torchscript", self.model), "m.pt", words, frozenset({MODEL}), _checked_everywhere(self.model))

    def package(self) -> Kind:
        path = self.folder.parent / "tiny.pt2"  # of all calls: compiling takes long
        if not path.exists():
            tool, net = ROOT / "data_tools" / "export_model.py", f"{Path(small.__file__)}:TinyNet"
            words = ["--format", "pt2", "--model", net, "--input-shape", f"3,{small.HEIGHT},{small.WIDTH}", "--output", path]
            subprocess.run([sys.executable, tool, *map(str, words)], check=True, capture_output=True)
        words = ("evaluate", "--model", "{given}/tiny.pt2", "--data", str(self.data), "--output", "{output}")
        return Kind(self.given("package", path), "tiny.pt2", words, frozenset({MODEL}), _checked_everywhere(path),
                    starts_anew=True)  # fmt: skip

    def onnx(self) -> Kind:
        """Nothing in the file checks its weights: whatever can be read of it is a network."""
        import foreign_onnx
        import onnx

        path = self.folder / "net.onnx"
        onnx.save(foreign_onnx.images(small.HEIGHT, small.WIDTH, small.NUM_CLASSES), path)
        words = ("evaluate", "--model", "{given}/net.onnx", "--data", str(self.data), "--output", "{output}")
        return Kind(self.given("onnx", path), "net.onnx", words, frozenset({MODEL, NAN}), starts_anew=True)

    def card(self) -> Kind:
        path = self.folder / "bare.pt"
        small.save_model(small.TinyNet(), path)
        folder = self.given("card", path)
        (folder / "bare.pt.json").write_text(json.dumps(small.card()))
        words = ("evaluate", "--model", "{given}/bare.pt", "--data", str(self.data), "--output", "{output}")
        return Kind(folder, "bare.pt.json", words, frozenset({USAGE, DATA, MODEL}))

    def _weights(self, kind: str, path: Path, checked: tuple[tuple[int, int], ...] = ()) -> Kind:
        words = (*self.evaluation, "--weights", f"{{given}}/{path.name}", "--output", "{output}")
        return Kind(self.given(kind, path), path.name, words, frozenset({MODEL, NAN}), checked)

    def safetensors(self) -> Kind:
        save_file(small.TinyNet(seed=2).state_dict(), self.folder / "w.safetensors")
        return self._weights("safetensors", self.folder / "w.safetensors")

    def torch_save(self) -> Kind:
        path = self.folder / "w.pth"
        torch.save({"model": small.TinyNet(seed=2).state_dict(), "epoch": 3}, path)
        return self._weights("torch_save", path, _checked_everywhere(path))

    def legacy_torch_save(self) -> Kind:
        path = self.folder / "old.pth"
        torch.save(small.TinyNet(seed=2).state_dict(), path, _use_new_zipfile_serialization=False)
        return self._weights("legacy_torch_save", path)

    def distributed_checkpoint(self) -> Kind:
        import torch.distributed.checkpoint as dcp

        folder = self.folder / "kinds" / "distributed_checkpoint"
        dcp.save({"model": small.TinyNet(seed=2).state_dict()}, checkpoint_id=str(folder), no_dist=True)
        words = (*self.evaluation, "--weights", "{given}", "--output", "{output}")
        return Kind(folder, ".metadata", words, frozenset({MODEL, NAN}))

    def _score(self, kind: str, path: Path, data: Path, *options: str) -> Kind:
        words = ("score", "--predictions", f"{{given}}/{path.name}", "--data", str(data), *options, "--output", "{output}")
        return Kind(self.given(kind, path), path.name, words, frozenset({USAGE, DATA, NAN}))

    def predictions(self) -> Kind:
        return self._score("predictions", self.result / "predictions.h5", self.data)

    def npy(self) -> Kind:
        with h5py.File(self.result / "predictions.h5") as file:
            path = write_npy(self.folder / "p.npy", file["logits"][...])
        return self._score("npy", path, self.data, "--outputs", "logits")

    def csv(self) -> Kind:
        with h5py.File(self.result / "predictions.h5") as file:
            path = write_csv(self.folder / "p.csv", file["logits"][...])
        return self._score("csv", path, self.data, "--outputs", "logits")

    def answers(self) -> Kind:
        folder = self.folder / "squad"
        folder.mkdir()
        data = prepared_squad.prepare(folder, V11)
        (folder / "answers.json").write_text(json.dumps({"q-é": "café tower", "q2": "Paris", "q3": "1889"}))
        return self._score("answers", folder / "answers.json", data)

    def boxes(self) -> Kind:
        folder = self.folder / "coco"
        folder.mkdir()
        case = random_case(1, num_images=9)
        data = detection_runs.prepare(case, folder)
        (folder / "boxes.json").write_text(json.dumps(results_of(case.found)))
        return self._score("boxes", folder / "boxes.json", data)

    def _of_result(self, name: str) -> Kind:
        folder = self.folder / "kinds" / name.replace(".", "_")
        shutil.copytree(self.result, folder)
        return Kind(folder, name, ("compare", "{given}", str(self.result)), frozenset({USAGE, DATA}), starts_anew=True)

    def metrics_file(self) -> Kind:
        return self._of_result("metrics.h5")

    def report(self) -> Kind:
        return self._of_result("report.json")

    def config_file(self) -> Kind:
        path = self.folder / "run.cfg"
        path.write_text("batch-size = 8\nmetrics = accuracy,accuracy_top5\n# a comment\nsave = topk\nlimit = 50\n")
        words = (*self.evaluation, "--config", "{given}/run.cfg", "--output", "{output}")
        return Kind(self.given("config_file", path), "run.cfg", words, frozenset({USAGE, DATA, MODEL, OUTPUT}),
                    starts_anew=True)  # fmt: skip

    def leaderboard(self) -> Kind:
        checkpoints, folder = self.folder / "checkpoints", self.folder / "kinds" / "leaderboard"
        checkpoints.mkdir()
        for step in (1, 2, 3):
            torch.save(small.TinyNet(seed=step).state_dict(), checkpoints / f"epoch_{step}.pt")
        (checkpoints / "done").touch()
        words = ("watch", "--checkpoints", str(checkpoints), *self.evaluation[1:], "--poll", "0.05")
        self.program(*words, "--output", folder).must_succeed()
        return Kind(folder, "leaderboard.jsonl", (*words, "--output", "{given}"), frozenset({USAGE, OUTPUT}), in_place=True)

    def progress(self) -> Kind:
        """Of a run that was stopped in its loop: its newest state file."""
        folder = self.folder / "kinds" / "progress"
        env = Strike().environment(folder)
        words = (*self.evaluation, "--batch-size", "8", "--save", "labels,logits", *map(str, ALWAYS), "--output", "{given}")
        stopped = self.program(*(word.format(given=folder) for word in words), env=env)
        assert stopped.code == STOPPED, stopped.stderr
        newest = max((folder / "progress").glob("*.state"), key=lambda path: path.stat().st_mtime_ns)
        name = str(newest.relative_to(folder))
        return Kind(folder, name, (*words, "--resume"), frozenset(), _checked_everywhere(newest), in_place=True)


KINDS = [name for name, made in vars(Maker).items() if callable(made) and name[0] != "_" and name not in ("given", "kind")]
