# SPDX-License-Identifier: Apache-2.0
"""CRC-32C of blocks of rows, computed as rows are written."""

import numpy as np


class BlockChecksums:
    """CRC-32C of the raw little-endian bytes of each `rows_per_block` rows; the last block may be shorter."""

    def __init__(self, rows_per_block: int) -> None:
        self.rows_per_block = rows_per_block
        self._finished: list[int] = []
        self._open_crc = 0
        self._open_rows = 0

    def update(self, rows: np.ndarray) -> None:
        """rows: [n, ...], C-contiguous and little-endian, n may be 0."""
        import google_crc32c  # here, so that tools that write no data set do without it

        first = 0
        while first < len(rows):
            taken = min(self.rows_per_block - self._open_rows, len(rows) - first)
            self._open_crc = google_crc32c.extend(self._open_crc, rows[first : first + taken])
            self._open_rows += taken
            first += taken
            if self._open_rows == self.rows_per_block:
                self._close_block()

    def table(self) -> np.ndarray:
        """uint32 [ceil(rows / rows_per_block)]; ends the last block."""
        if self._open_rows:
            self._close_block()
        return np.array(self._finished, "<u4")

    def _close_block(self) -> None:
        self._finished.append(self._open_crc)
        self._open_crc = 0
        self._open_rows = 0
