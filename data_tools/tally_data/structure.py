# SPDX-License-Identifier: Apache-2.0
"""The structure digest of a data set file: what its tables of checksums do not cover (SCHEMA.md, Checksums)."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import h5py
import numpy as np

CHECKSUMS = "/checksums"
DIGEST_ATTRIBUTE = "structure_sha256"
_NUMBERS = {np.dtype(f"<{code}").str: np.dtype(code).name for code in "u1 i1 u2 i2 u4 i4 u8 i8 f4 f8".split()}


def structure_digest(file: h5py.File) -> str:
    """SHA-256, in hexadecimal digits: of the root, the class names and all datasets with a table of checksums."""
    digest = hashlib.sha256()
    for path in _covered_paths(file):
        for field in _object_fields(path.encode(), file[path]):
            digest.update(len(field).to_bytes(8, "little"))
            digest.update(field)
    return digest.hexdigest()


def _covered_paths(file: h5py.File) -> list[str]:
    paths = ["/", *(path for path in ("/class_names",) if path in file)]

    def add(name: str, found: h5py.Group | h5py.Dataset) -> None:
        if isinstance(found, h5py.Dataset):
            paths.append(f"/{name}")

    if CHECKSUMS in file:
        file[CHECKSUMS].visititems(add)
    return sorted(paths, key=str.encode)


def _object_fields(path: bytes, found: h5py.Group | h5py.Dataset) -> Iterator[bytes]:
    is_dataset = isinstance(found, h5py.Dataset)
    yield from (b"object", path)
    yield from (_element(found).encode(), _shape(found.shape)) if is_dataset else (b"", b"")
    for name in sorted(found.attrs, key=str.encode):
        yield from (b"attribute", name.encode(), *_attribute_fields(found, name))
    if path == b"/class_names" and is_dataset and _element(found) == "string":
        for text in _texts(found.id.get_type(), found[...]):
            yield from (b"string", text)


def _element(dataset: h5py.Dataset) -> str:
    stored = dataset.id.get_type().get_class()
    if stored == h5py.h5t.STRING:
        return "string"
    is_number = stored in (h5py.h5t.INTEGER, h5py.h5t.FLOAT)
    return _NUMBERS.get(dataset.dtype.str, "other") if is_number else "other"


def _shape(shape: Sequence[int] | None) -> bytes:
    return np.array(shape or (), "<i8").tobytes()


def _attribute_fields(found: h5py.Group | h5py.Dataset, name: str) -> tuple[bytes, bytes, bytes]:
    attribute = h5py.h5a.open(found.id, name.encode())
    stored = attribute.get_type()
    kind = stored.get_class()
    is_empty = attribute.get_space().get_simple_extent_type() == h5py.h5s.NULL
    if is_empty or kind not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.STRING):
        return b"other", b"", b""
    values = found.attrs[name]
    shape = _shape(np.shape(values))
    if kind == h5py.h5t.STRING:
        texts = _texts(stored, values)
        return b"string", shape, b"".join(len(text).to_bytes(8, "little") + text for text in texts)
    if kind == h5py.h5t.FLOAT:
        return b"float", shape, np.asarray(values).astype("<f8").tobytes()
    is_signed = stored.get_sign() != h5py.h5t.SGN_NONE
    return b"integer", shape, np.asarray(values).astype("<i8" if is_signed else "<u8").tobytes()


def _texts(stored: h5py.h5t.TypeStringID, values: Any) -> Iterator[bytes]:
    """Of one string or many: their bytes, without what fills them up."""
    for value in np.ravel(np.asarray(values, dtype=object)):
        text = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
        text = text.partition(b"\0")[0]
        is_filled_with_spaces = not stored.is_variable_str() and stored.get_strpad() == h5py.h5t.STR_SPACEPAD
        yield text.rstrip(b" ") if is_filled_with_spaces else text
