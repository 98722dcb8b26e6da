# SPDX-License-Identifier: Apache-2.0
"""The recipe printed in docs/formats.md gives the digest that the C++ writer gives.

Usage: digest_recipe_test.py WRITE_EXAMPLE FORMATS_MD
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    write_example, formats = sys.argv[1:]
    (recipe,) = re.findall(r"```python\n(.*?)```", Path(formats).read_text(), re.DOTALL)
    names: dict = {}
    exec(recipe, names)  # the document's own code
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.h5"
        run = subprocess.run([write_example, path], stdout=subprocess.PIPE, text=True, check=True)
        written, computed = run.stdout.strip(), names["predictions_digest"](path)
    print(f"writer {written}\nrecipe {computed}")
    assert written == computed


if __name__ == "__main__":
    main()
