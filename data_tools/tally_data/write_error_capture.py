# SPDX-License-Identifier: Apache-2.0
"""The file under HDF5, whose faults HDF5 never sees."""

import io
from pathlib import Path
from typing import Any


class WriteErrorCapture(io.FileIO):
    """Keeps the first OSError of a write and pretends success from then on.

    HDF5 2.0 that has met a full disk can neither close its file nor end its process without a crash. The owner asks
    `raise_fault` after each step instead, and throws the file away.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "x+")
        self._fault: OSError | None = None

    def write(self, content: Any) -> int:
        view = memoryview(content).cast("B")
        done = 0
        try:
            while done < len(view) and self._fault is None:
                done += super().write(view[done:])
        except OSError as error:
            self._fault = error
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        try:
            if self._fault is None:
                return super().truncate(size)
        except OSError as error:
            self._fault = error
        return self.tell() if size is None else size

    def raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault
