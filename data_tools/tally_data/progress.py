# SPDX-License-Identifier: Apache-2.0
"""One progress bar for all tools."""

import os
import sys
from typing import Any

from tqdm import tqdm


def progress_bar(total: int | None, unit: str, what: str) -> tqdm:
    """A bar on a terminal; in a log a line now and then, and none for work that takes less than a second.

    total: None where nobody knows it.
    """
    if not sys.stderr.isatty():
        form: dict[str, Any] = {"mininterval": 10.0, "delay": 1.0, "ncols": 80}
    elif os.get_terminal_size(sys.stderr.fileno()).columns == 0:  # a pseudo-terminal that nobody sized
        form = {"ncols": 80, "nrows": 24}
    else:
        form = {"dynamic_ncols": True}
    return tqdm(total=total, unit=unit, desc=what, **form)
