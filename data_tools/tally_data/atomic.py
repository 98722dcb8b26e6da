# SPDX-License-Identifier: Apache-2.0
"""Output files that are either complete or absent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import OutputError


def check_output(target: Path, overwrite: bool) -> None:
    """Refuses an output path that cannot become a file, before any work is done."""
    if target.is_dir():
        raise OutputError(f"output '{target}' is a directory; name a file in it")
    if target.exists() and not overwrite:
        raise OutputError(f"output '{target}' exists already; give another name or --overwrite")
    folder = target.absolute().parent
    if not folder.is_dir():
        raise OutputError(f"the folder '{folder}' of the output does not exist; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"the folder '{folder}' of the output is not writable")


def flush_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def atomic_path(target: Path, overwrite: bool) -> Iterator[Path]:
    """Yields a temporary name beside `target`; renames it on success, removes it on any failure.

    The block must leave a closed file under the temporary name.
    """
    check_output(target, overwrite)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        flush_to_disk(temporary)
        check_output(target, overwrite)  # somebody may have written it meanwhile
        os.replace(temporary, target)
        flush_to_disk(target.absolute().parent)
    except OSError as error:
        raise OutputError(f"'{target}' cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
