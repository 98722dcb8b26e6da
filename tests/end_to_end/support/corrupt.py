# SPDX-License-Identifier: Apache-2.0
"""Data sets that tally must refuse: each function damages a copy of a good one in one way."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from tally_data.checksum import BlockChecksums

Damage = Callable[[h5py.File], None]
IMAGE, LABEL = "/inputs/image", "/targets/label"


@dataclass(frozen=True)
class BadData:
    """What makes the file `path` from a good one, and what the error line must name besides the file."""

    make: Callable[[Path, Path], None]
    texts: tuple[str, ...]


BAD_DATA: dict[str, BadData] = {}


def bad_file(*texts: str) -> Callable:
    """Registers a function that writes the bad file from the good one."""

    def register(make: Callable[[Path, Path], None]) -> Callable:
        BAD_DATA[make.__name__] = BadData(make, texts)
        return make

    return register


def bad_content(*texts: str) -> Callable:
    """Registers a function that damages a copy, open for writing."""

    def register(damage: Damage) -> Damage:
        def make(good: Path, path: Path) -> None:
            with edited(good, path) as file:
                damage(file)

        BAD_DATA[damage.__name__] = BadData(make, texts)
        return damage

    return register


@contextmanager
def edited(good: Path, path: Path) -> Iterator[h5py.File]:
    shutil.copyfile(good, path)
    with h5py.File(path, "r+") as file:
        yield file


def replace(file: h5py.File, path: str, data: np.ndarray, **options: object) -> None:
    """Another dataset in this place, with the attributes of the old one and a table that fits."""
    attributes = dict(file[path].attrs)
    del file[path]
    dataset = file.create_dataset(path, data=data, **options)
    dataset.attrs.update(attributes)
    if f"/checksums{path}" in file:
        rows_per_block = int(file[f"/checksums{path}"].attrs["rows_per_block"])
        del file[f"/checksums{path}"]
        table = BlockChecksums(rows_per_block)
        table.update(np.ascontiguousarray(data))
        file.create_dataset(f"/checksums{path}", data=table.table()).attrs["rows_per_block"] = np.int64(rows_per_block)


def flip_byte(path: Path, dataset: str, at: int) -> None:
    with h5py.File(path) as file:
        offset = file[dataset].id.get_offset() + at
    with path.open("r+b") as raw:
        raw.seek(offset)
        value = raw.read(1)[0]
        raw.seek(offset)
        raw.write(bytes([value ^ 0x10]))


@bad_file()
def missing(good: Path, path: Path) -> None:
    pass


@bad_file()
def dangling_link(good: Path, path: Path) -> None:
    path.symlink_to(path.with_name("nowhere.h5"))


@bad_file()
def folder(good: Path, path: Path) -> None:
    path.mkdir()


@bad_file()
def named_pipe(good: Path, path: Path) -> None:
    os.mkfifo(path)


@bad_file()
def empty(good: Path, path: Path) -> None:
    path.touch()


@bad_file()
def text(good: Path, path: Path) -> None:
    path.write_text("index,label\n0,1\n" * 100)


@bad_file()
def truncated(good: Path, path: Path) -> None:
    path.write_bytes(good.read_bytes()[: good.stat().st_size // 2])


@bad_file()
def one_byte_short(good: Path, path: Path) -> None:
    path.write_bytes(good.read_bytes()[:-1])


@bad_file(IMAGE, "96")
def flipped_pixel(good: Path, path: Path) -> None:
    shutil.copyfile(good, path)
    flip_byte(path, IMAGE, 100 * 192 + 5)


@bad_file(IMAGE, "64")
def flipped_pixel_that_two_ranks_read(good: Path, path: Path) -> None:
    # Rows 64..79 are one block of checksums; of three ranks the last one begins at row 72.
    shutil.copyfile(good, path)
    flip_byte(path, IMAGE, 70 * 192 + 5)


@bad_file(LABEL)
def flipped_label(good: Path, path: Path) -> None:
    shutil.copyfile(good, path)
    flip_byte(path, LABEL, 99 * 8)


@bad_file(IMAGE)
def flipped_checksum(good: Path, path: Path) -> None:
    shutil.copyfile(good, path)
    flip_byte(path, f"/checksums{IMAGE}", 4)


@bad_content(f"{LABEL}[100] = 7", "0..6")
def label_too_large(file: h5py.File) -> None:
    labels = file[LABEL][...]
    labels[100] = 7
    replace(file, LABEL, labels)


@bad_content(f"{LABEL}[0] = -1")
def label_negative(file: h5py.File) -> None:
    labels = file[LABEL][...]
    labels[0] = -1
    replace(file, LABEL, labels)


@bad_content(LABEL, "float32")
def label_dtype(file: h5py.File) -> None:
    replace(file, LABEL, file[LABEL][...].astype(np.float32))


@bad_content(LABEL)
def label_big_endian(file: h5py.File) -> None:
    replace(file, LABEL, file[LABEL][...].astype(">i8"))


@bad_content(LABEL, "[103, 1]")
def label_rank(file: h5py.File) -> None:
    replace(file, LABEL, file[LABEL][...][:, None])


@bad_content(IMAGE, "int16")
def image_dtype(file: h5py.File) -> None:
    replace(file, IMAGE, file[IMAGE][...].astype(np.int16))


@bad_content(IMAGE, "[8, 8]")
def image_rank(file: h5py.File) -> None:
    replace(file, IMAGE, file[IMAGE][..., 0])


@bad_content(IMAGE, "RGB")
def image_channels(file: h5py.File) -> None:
    replace(file, IMAGE, file[IMAGE][..., :2])


@bad_content(IMAGE, "mean")
def image_without_mean(file: h5py.File) -> None:
    del file[IMAGE].attrs["mean"]


@bad_content(IMAGE, "std")
def image_std_zero(file: h5py.File) -> None:
    file[IMAGE].attrs["std"] = np.array([1.0, 0.0, 1.0])


@bad_content()
def no_samples(file: h5py.File) -> None:
    replace(file, IMAGE, file[IMAGE][:0])
    replace(file, LABEL, file[LABEL][:0])


@bad_content("102", "103")
def lengths_differ(file: h5py.File) -> None:
    replace(file, LABEL, file[LABEL][:-1])


@bad_content(LABEL)
def no_labels(file: h5py.File) -> None:
    del file[LABEL], file[f"/checksums{LABEL}"]


@bad_content("/inputs")
def no_inputs(file: h5py.File) -> None:
    del file["/inputs"], file["/checksums/inputs"]


@bad_content("tally_schema", "2")
def other_schema(file: h5py.File) -> None:
    file.attrs["tally_schema"] = np.int64(2)


@bad_content("num_classes")
def no_num_classes(file: h5py.File) -> None:
    del file.attrs["num_classes"]


@bad_content("juggling")
def unknown_task(file: h5py.File) -> None:
    file.attrs["task"] = "juggling"


@bad_content("class_names", "6", "7")
def class_names_short(file: h5py.File) -> None:
    names = file["/class_names"][:-1]
    del file["/class_names"]
    file["/class_names"] = names


@bad_content(f"/checksums{IMAGE}")
def checksum_table_short(file: h5py.File) -> None:
    path = f"/checksums{IMAGE}"
    values, rows = file[path][:-1], file[path].attrs["rows_per_block"]
    del file[path]
    file.create_dataset(path, data=values).attrs["rows_per_block"] = rows


@bad_content(IMAGE, "external")
def external_link(file: h5py.File) -> None:
    del file[IMAGE]
    file[IMAGE] = h5py.ExternalLink("other.h5", "/inputs/image")


@bad_content("/notes/elsewhere", "external")
def external_link_aside(file: h5py.File) -> None:
    file.create_group("/notes")["elsewhere"] = h5py.ExternalLink("/etc/hostname", "/")


@bad_content(LABEL, "soft")
def soft_link(file: h5py.File) -> None:
    file["/hidden"] = file[LABEL][...]
    del file[LABEL]
    file[LABEL] = h5py.SoftLink("/hidden")


@bad_content(LABEL, "virtual")
def virtual_layout(file: h5py.File) -> None:
    labels = file[LABEL][...]
    del file[LABEL]
    file["/hidden"] = labels
    layout = h5py.VirtualLayout((len(labels),), np.int64)
    layout[:] = h5py.VirtualSource(".", "/hidden", (len(labels),))
    file.create_virtual_dataset(LABEL, layout)


@bad_content(LABEL, "external")
def external_storage(file: h5py.File) -> None:
    labels = file[LABEL][...]
    raw = Path(file.filename).with_suffix(".raw")
    raw.write_bytes(labels.tobytes())
    replace(file, LABEL, labels, external=[(str(raw), 0, labels.nbytes)])


@bad_content(LABEL, "filter")
def unknown_filter(file: h5py.File) -> None:
    replace(file, LABEL, file[LABEL][...], chunks=(16,), scaleoffset=0)
