# SPDX-License-Identifier: Apache-2.0
"""The examples that data_tools/SCHEMA.md shows, run as they stand."""

import re
from contextlib import chdir
from pathlib import Path

SCHEMA = Path(__file__).resolve().parents[2] / "data_tools" / "SCHEMA.md"


def write_schema_examples(folder: Path) -> list[Path]:
    """The data sets that the examples write, in order of name; tally_data is on the path."""
    with chdir(folder):
        for example in re.findall(r"```python\n(.*?)```", SCHEMA.read_text(), re.DOTALL):
            exec(example, {})
    return sorted(folder.iterdir())
