# SPDX-License-Identifier: Apache-2.0
"""Writes the files that the tests of the model room read.

usage: make_fixtures.py FOLDER      does nothing if FOLDER was written by these very scripts and PyTorch
"""

import hashlib
import importlib.metadata
import sys
from pathlib import Path

HERE = Path(__file__).parent


def current_stamp() -> str:
    sources = b"".join(path.read_bytes() for path in sorted(HERE.glob("fixture_*.py")))
    return f"{hashlib.sha256(sources).hexdigest()} {importlib.metadata.version('torch')}"


def main() -> None:
    folder = Path(sys.argv[1])
    stamp = folder / "stamp"
    if stamp.exists() and stamp.read_text() == current_stamp():
        return
    import fixture_files  # loads PyTorch, which takes seconds

    folder.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    fixture_files.make(folder)
    stamp.write_text(current_stamp())


if __name__ == "__main__":
    main()
