# SPDX-License-Identifier: Apache-2.0
"""HDF5 files on which HDF5's own parser crashes or never ends."""

import random
import shutil
import struct
from pathlib import Path

import h5py


def _with_text(good: Path, path: Path) -> bytearray:
    """Of a copy with a text of variable length, which Tally's own files have not."""
    shutil.copyfile(good, path)
    with h5py.File(path, "r+") as file:
        file.attrs["a_note"] = "as other programs write it"
    return bytearray(path.read_bytes())


def _heap_objects(content: bytearray) -> list[int]:
    """Where the objects of the last heap of texts begin; the last one is what is free.

    2 bytes are an object's number, 8 bytes at 8 its size, and its bytes follow, filled up to a multiple of 8.
    """
    places = [content.rfind(b"GCOL") + 16]
    while struct.unpack_from("<H", content, places[-1])[0] != 0:
        size = struct.unpack_from("<Q", content, places[-1] + 8)[0]
        places.append(places[-1] + 16 + (size + 7) // 8 * 8)
    return places


def write_crashing(good: Path, path: Path) -> Path:
    """HDF5 1.10 copies 1 TiB of it; newer ones fail."""
    content = _with_text(good, path)
    struct.pack_into("<Q", content, _heap_objects(content)[0] + 8, 1 << 40)
    path.write_bytes(content)
    return path


def write_endless(good: Path, path: Path) -> Path:
    content = _with_text(good, path)
    struct.pack_into("<Q", content, _heap_objects(content)[-1] + 8, 0)
    path.write_bytes(content)
    return path


def write_mutant(good: Path, path: Path, seed: int) -> Path:
    """One to three fields have other values, half of them where HDF5 keeps texts, trees and names."""
    content, rng = _with_text(good, path), random.Random(seed)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(content))
        block = content.find(rng.choice([b"GCOL", b"TREE", b"HEAP", b"SNOD"]))
        if rng.random() < 0.5 and block >= 0:
            at = block + rng.randrange(400)
        field = rng.choice([0, 2**64 - 1, rng.randrange(len(content)), rng.getrandbits(64)]).to_bytes(8, "little")
        field = field[: rng.choice([1, 2, 4, 8])]
        content[at : at + len(field)] = field
    path.write_bytes(content)
    return path
