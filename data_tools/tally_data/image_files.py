# SPDX-License-Identifier: Apache-2.0
"""The image files of a folder, an uncompressed tar or a zip file, and their bytes."""

import os
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from itertools import filterfalse
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from .errors import BrokenImage, DataError, reading

# torchvision.datasets.folder.IMG_EXTENSIONS
EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class ImageFile(NamedTuple):
    """name: path relative to the folder or archive; its bytes are [offset, offset + size) of `container`.

    unpacked: how many they become, where they are deflated; crc: of these, in a zip file.
    """

    name: str
    container: str
    offset: int
    size: int
    unpacked: int | None = None
    crc: int | None = None

    def read(self) -> bytes:
        with reading(self.container), open(self.container, "rb") as file:
            file.seek(self.offset)
            content = file.read(self.size)
        if len(content) != self.size:
            raise BrokenImage(
                f"image '{self.name}' in '{self.container}' ends after {len(content)} of {self.size} bytes"
            )
        if self.unpacked is not None:
            try:
                content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, self.unpacked + 1)
            except zlib.error as error:
                raise BrokenImage(f"image '{self.name}' in '{self.container}' is damaged: {error}") from error
        if self.crc is not None and zlib.crc32(content) != self.crc:
            raise BrokenImage(f"image '{self.name}' in '{self.container}' is damaged: its checksum is another")
        return content


@dataclass(frozen=True)
class ImageFiles:
    """files: in torchvision's ImageFolder order (by top folder, folder, name); folders: the top folders, sorted.

    hidden: names of images that are left out: their name or that of a folder begins with a dot, or a folder is __MACOSX.
    """

    files: list[ImageFile]
    folders: list[str]
    hidden: list[str]


def _is_image(name: str) -> bool:
    return name.lower().endswith(EXTENSIONS)


def _is_hidden(name: str) -> bool:
    """As are .ipynb_checkpoints and what macOS adds."""
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)


def _order(file: ImageFile) -> tuple[str, str, str]:
    path = PurePosixPath(file.name)
    return path.parts[0] if len(path.parts) > 1 else "", str(path.parent), path.name


def list_images(source: Path) -> ImageFiles:
    """Raises DataError if `source` is neither folder, tar nor zip, or holds no image."""
    with reading(source):
        source.stat()
    if source.is_dir():
        files, folders = _list_folder(source)
    else:
        files, folders = _list_zip(source) if _is_zip(source) else _list_tar(source)
    hidden = sorted(file.name for file in files if _is_hidden(file.name))
    files = [file for file in files if not _is_hidden(file.name)]
    folders = set(filterfalse(_is_hidden, folders))
    if not files:
        but = f", but {len(hidden)} hidden ones, first '{hidden[0]}'" if hidden else ""
        raise DataError(f"'{source}' holds no image file ({' '.join(EXTENSIONS)}){but}")
    if not source.is_dir():
        files, folders = _without_common_top(files, folders)
    return ImageFiles(sorted(files, key=_order), sorted(folders), hidden)


def _list_folder(root: Path) -> tuple[list[ImageFile], set[str]]:
    def fail(error: OSError) -> None:
        raise DataError(f"'{error.filename}' cannot be read: {error.strerror}")

    files = []
    for folder, _, names in os.walk(root, followlinks=True, onerror=fail):
        for name in filter(_is_image, names):
            path = Path(folder, name)
            with reading(path):
                size = path.stat().st_size
            files.append(ImageFile(path.relative_to(root).as_posix(), str(path), 0, size))
    return files, {entry.name for entry in root.iterdir() if entry.is_dir()}


def _open_tar(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path, "r:")
    except tarfile.ReadError as error:
        if tarfile.is_tarfile(path):
            raise DataError(
                f"'{path}' is a compressed tar, whose images cannot be read at random: uncompress it first"
            ) from error
        raise DataError(f"'{path}' is neither a folder nor a tar or zip file") from error


def _members(path: Path) -> list[tarfile.TarInfo]:
    try:
        with reading(path), _open_tar(path) as archive:
            return archive.getmembers()
    except tarfile.TarError as error:
        raise DataError(f"'{path}' is a damaged tar file: {error}") from error


def list_tar(path: Path) -> list[ImageFile]:
    """All plain files of an uncompressed tar, in its order."""
    members = [member for member in _members(path) if member.isreg() and not member.issparse()]
    return [ImageFile(str(PurePosixPath(one.name)), str(path), one.offset_data, one.size) for one in members]


def _list_tar(path: Path) -> tuple[list[ImageFile], set[str]]:
    files, folders = [], set()
    for member in _members(path):
        name = str(PurePosixPath(member.name))  # drops a leading ./
        if member.isdir():
            folders.add(name)
        elif _is_image(name):
            if not _is_hidden(name) and (not member.isreg() or member.issparse()):
                raise DataError(f"'{name}' in '{path}' is a link or a sparse file, expected a plain file")
            files.append(ImageFile(name, str(path), member.offset_data, member.size))
    return files, folders


def _is_zip(path: Path) -> bool:
    with reading(path), open(path, "rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def _list_zip(path: Path) -> tuple[list[ImageFile], set[str]]:
    files, folders = [], set()
    try:
        with reading(path), zipfile.ZipFile(path) as archive, open(path, "rb") as raw:
            for entry in archive.infolist():
                name = str(PurePosixPath(entry.filename))
                if entry.is_dir():
                    folders.add(name)
                elif _is_image(name):
                    files.append(_zipped(entry, name, path, raw))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
        raise DataError(f"'{path}' is a damaged zip file: {error}") from error
    return files, folders


def _zipped(entry: zipfile.ZipInfo, name: str, path: Path, raw: BinaryIO) -> ImageFile:
    if entry.flag_bits & 1:
        raise DataError(f"'{name}' in '{path}' is encrypted: unpack it first")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        how = zipfile.compressor_names.get(entry.compress_type, entry.compress_type)
        raise DataError(f"'{name}' in '{path}' is compressed by {how}, expected stored or deflated: unpack it first")
    # The entry's own header has a name and extra fields of lengths of its own.
    raw.seek(entry.header_offset)
    header = raw.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise DataError(f"'{path}' is a damaged zip file: '{name}' has no header")
    lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    unpacked = entry.file_size if entry.compress_type == zipfile.ZIP_DEFLATED else None
    return ImageFile(name, str(path), entry.header_offset + 30 + lengths, entry.compress_size, unpacked, entry.CRC)


def _without_common_top(files: list[ImageFile], folders: set[str]) -> tuple[list[ImageFile], set[str]]:
    """An archive of one folder `val` with class folders in it counts from `val`."""
    paths = [PurePosixPath(file.name).parts for file in files]
    folder_paths = [PurePosixPath(folder).parts for folder in folders]
    tops = {parts[0] for parts in paths + folder_paths}
    if len(tops) == 1 and all(len(parts) > 2 for parts in paths):
        files = [file._replace(name="/".join(parts[1:])) for file, parts in zip(files, paths, strict=True)]
        paths = [parts[1:] for parts in paths]
        folder_paths = [parts[1:] for parts in folder_paths]
    top_folders = {parts[0] for parts in folder_paths if parts} | {
        parts[0] for parts in paths if len(parts) > 1
    }
    return files, top_folders
