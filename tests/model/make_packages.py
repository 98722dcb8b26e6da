# SPDX-License-Identifier: Apache-2.0
"""Writes the compiled packages that the tests of the model room read, by the exporter that users have.

usage: make_packages.py FIXTURES FOLDER      FIXTURES as make_fixtures.py wrote them; compiles nothing if FOLDER is current
"""

import hashlib
import importlib.metadata
import sys
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOLS = ROOT / "data_tools"
SUPPORT = ROOT / "tests" / "support"
sys.path[:0] = [str(TOOLS), str(SUPPORT)]

import amx  # noqa: E402
import packages  # noqa: E402

# name: the exporter's options
PACKAGES = {
    "frozen": ["--weights", "state_dict.pth"],
    "swappable": ["--seed", "5", "--swappable"],
    "bf16_of_8": ["--weights", "state_dict.pth", "--precision", "bf16", "--batch-size", "8"],
}


def current_stamp() -> str:
    sources = [*HERE.glob("*.py"), *TOOLS.rglob("*.py")]
    content = b"".join(path.read_bytes() for path in sorted(sources))
    processor = next((line for line in Path("/proc/cpuinfo").open() if line.startswith(("flags", "Features"))), "")
    content += processor.encode()
    return f"{hashlib.sha256(content).hexdigest()} {importlib.metadata.version('torch')}"


def export_all(fixtures: Path, folder: Path) -> None:
    amx.leave_out_broken_amx()
    import export_model  # loads PyTorch, which takes seconds

    for name, options in PACKAGES.items():
        options = [str(fixtures / word) if word.endswith(".pth") else word for word in options]
        command = ["export_model", "--model", f"{HERE / 'fixture_nets.py'}:SmallNet", "--input-shape", "3,12,12"]
        command += ["--format", "pt2", "--overwrite", "--output", str(folder / f"{name}.pt2"), *options]
        with mock.patch.object(sys, "argv", command):
            export_model.main()


def main() -> None:
    fixtures, folder = map(Path, sys.argv[1:])
    stamp = folder / "stamp"
    if not stamp.exists() or stamp.read_text() != current_stamp():
        folder.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
        export_all(fixtures, folder)
        stamp.write_text(current_stamp())
    packages.write_bad_packages(folder / "frozen.pt2", folder)


if __name__ == "__main__":
    main()
