# SPDX-License-Identifier: Apache-2.0
"""Packages (.pt2) that are not what they should be: each function writes one from a good one."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

Entries = dict[str, bytes]
MODEL = "model/data/aotinductor/model/"


def read(path: Path) -> Entries:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, entries: Entries, method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def library_of(entries: Entries) -> str:
    return next(name for name in entries if name.endswith(".so"))


def with_metadata(entries: Entries, **changes: str | None) -> Entries:
    """The compiler's metadata with other values; None takes a key away."""

    def changed(content: bytes) -> bytes:
        metadata = json.loads(content) | changes
        return json.dumps({key: value for key, value in metadata.items() if value is not None}).encode()

    return {name: changed(content) if name.endswith("_metadata.json") else content for name, content in entries.items()}


def card_of(entries: Entries) -> dict:
    metadata = next(content for name, content in entries.items() if name.endswith(".wrapper_metadata.json"))
    return json.loads(json.loads(metadata)["tally"])


def with_card(entries: Entries, **changes: object) -> Entries:
    return with_metadata(entries, tally=json.dumps(card_of(entries) | changes))


def with_package_facts(entries: Entries, **changes: object) -> Entries:
    return with_card(entries, package=card_of(entries)["package"] | changes)


def with_input_type(entries: Entries, dtype: str) -> Entries:
    return with_card(entries, inputs=[spec | {"dtype": dtype} for spec in card_of(entries)["inputs"]])


def with_library(entries: Entries, library: bytes) -> Entries:
    """Another library, which the card vouches for."""
    changed = entries | {library_of(entries): library}
    return with_package_facts(changed, library_sha256=hashlib.sha256(library).hexdigest())


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


ELF_MAGIC, ELF_MACHINE = 1, 18  # offsets in the header


def damaged(entries: Entries) -> Entries:
    name = library_of(entries)
    return entries | {name: flipped(entries[name], len(entries[name]) // 2)}


DROPOUT = {"operator": "aten::dropout", "what": "dropout", "source": "net.py:3"}

# How it is made, and what a refusal must say.
BAD_PACKAGES: dict[str, tuple[Callable[[Entries], Entries], str]] = {
    "damaged": (damaged, "is damaged"),
    "no_elf": (lambda e: with_library(e, flipped(e[library_of(e)], ELF_MAGIC)), "invalid ELF header"),
    "other_elf": (lambda e: with_library(e, flipped(e[library_of(e)], ELF_MACHINE)), "cannot be loaded"),
    "short_library": (lambda e: e | {library_of(e): e[library_of(e)][:5000]}, "is damaged"),
    "no_card": (lambda e: with_metadata(e, tally=None), "without a card"),
    "bad_card": (lambda e: with_card(e, num_classes="ten"), "num_classes in its card"),
    "card_without_facts": (lambda e: with_card(e, package=None), "without a card"),
    "other_type": (lambda e: with_input_type(e, "float16"), "float16, but it was compiled in fp32"),
    "other_machine": (lambda e: with_metadata(e, AOTI_MACHINE="riscv64"), "compiled for linux riscv64"),
    "other_system": (lambda e: with_metadata(e, AOTI_PLATFORM="win32"), "compiled for win32"),
    "other_processor": (
        lambda e: with_package_facts(e, cpu_features=["avx2", "avx1024"]), "has no avx1024. Export it on this machine"
    ),
    "other_device": (lambda e: with_metadata(e, AOTI_DEVICE_KEY="cuda"), "the device 'cuda', this run uses 'cpu'"),
    "unknown_device": (lambda e: with_metadata(e, AOTI_DEVICE_KEY="xpu"), "the device 'xpu'"),
    "in_training_mode": (lambda e: with_card(e, training_mode=[DROPOUT]), "aten::dropout (dropout) at net.py:3 is active"),
    "climbing": (lambda e: e | {MODEL + "../../x.so": b""}, "leads out of it"),
    "absolute": (lambda e: e | {"model//etc/x.so": b""}, "leads out of it"),
    "two_models": (lambda e: e | {"model/data/aotinductor/other/x.so": b""}, "it holds 2 models"),
    "two_libraries": (lambda e: e | {MODEL + "x.so": b""}, "it holds 2 libraries"),
    "no_library": (lambda e: {k: v for k, v in e.items() if k != library_of(e)}, "holds no compiled code"),
    "no_metadata": (lambda e: {k: v for k, v in e.items() if not k.endswith(".json")}, "has no entry"),
    "kernels_beside": (lambda e: e | {MODEL + "x.cubin": b""}, "x.cubin' beside it"),
    "weights_beside": (lambda e: e | {MODEL + "x.wrapper_weights.blob": b""}, "weights.blob' beside it"),
}  # fmt: skip


def write_bad_packages(good: Path, folder: Path) -> None:
    entries = read(good)
    for name, (change, _) in BAD_PACKAGES.items():
        write(folder / f"{name}.pt2", change(entries))
    write(folder / "of_earlier_exporter.pt2", with_card(entries, training_mode=None))  # a good one
    write(folder / "at_most_8.pt2", with_package_facts(entries, largest_batch=8))  # another
    write(folder / "compressed.pt2", entries, zipfile.ZIP_DEFLATED)
    content = good.read_bytes()
    (folder / "cut.pt2").write_bytes(content[: len(content) * 2 // 3])
