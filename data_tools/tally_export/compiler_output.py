# SPDX-License-Identifier: Apache-2.0
"""What the compiler wrote for a package is looked at before anything loads it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from torch._inductor import cpp_builder

from tally_data.errors import EnvironmentFault, ModelError

_CPP_LIBRARY = "libstdc++.so"  # PyTorch's, too


def check_files(files: list[str]) -> None:
    """A package that tally loads is one library and its description."""
    for file in map(Path, files):
        if file.suffix == ".json" and not file.stem.endswith("_metadata"):
            nodes = json.loads(file.read_text())["nodes"]
            names = sorted({entry["node"]["target"] for entry in nodes})
            raise ModelError(
                f"no package can be made: the operations {', '.join(names)} cannot be compiled; use --format torchscript"
            )
        if file.suffix not in (".so", ".cpp", ".json"):
            raise ModelError(f"no package can be made: the compiler wrote '{file.name}', which tally does not load")
        if file.suffix == ".cpp":
            text = file.read_text()
            if re.search(r"omp parallel num_threads\(|-march=native", text):
                raise ModelError("no package can be made: the compiler tied it to this machine")


def check_linked(library: Path) -> None:
    """Two copies of the C++ library in one process do not know each other's locales: AOTInductor's regular expressions
    then crash while the package is loaded (seen with a g++ 13 that links its own statically)."""
    readelf = shutil.which("readelf")
    if readelf is None:  # it comes with the linker
        return
    facts = subprocess.run([readelf, "--dynamic", library], capture_output=True, text=True, check=False)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", facts.stdout)
    if facts.returncode == 0 and not any(name.startswith(_CPP_LIBRARY) for name in needed):
        raise EnvironmentFault(
            f"the compiler '{cpp_builder.get_cpp_compiler()}' links a C++ library of its own into the package, which "
            "crashes beside PyTorch's; name another one in the environment variable CXX"
        )
