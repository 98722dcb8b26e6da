# SPDX-License-Identifier: Apache-2.0
"""The harness of faults: a process becomes the server as soon as it asks for something in the folder.

If it asked first and forked later, all runs would go on from one answer.
"""

import os
import sys
from pathlib import Path

import pytest
from fork_server import ForkServer

FAULTS = os.environ.get("TALLY_TEST_FAULTS")
pytestmark = pytest.mark.skipif(not FAULTS, reason="no library of faults can be loaded before a program with sanitizers")

# The names with 'x' before 'stat' are those of code built with a glibc before 2.33, such as LibTorch.
CALLS = {
    "stat": "path, buffer",
    "stat64": "path, buffer",
    "lstat": "path, buffer",
    "lstat64": "path, buffer",
    "fstatat": "AT_FDCWD, path, buffer, 0",
    "fstatat64": "AT_FDCWD, path, buffer, 0",
    "statx": "AT_FDCWD, path, 0, 0x7ff, buffer",
    "access": "path, 0",
    "__xstat": "1, path, buffer",
    "__xstat64": "1, path, buffer",
    "__lxstat": "1, path, buffer",
    "__lxstat64": "1, path, buffer",
}
SCRIPT = """
import ctypes, os, sys
AT_FDCWD = -100
path, buffer = sys.argv[1].encode(), ctypes.create_string_buffer(1024)
is_absent = ctypes.CDLL(None).{name}({arguments})
os.close(os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY))
os._exit(2 if is_absent else 0)
"""


@pytest.mark.parametrize("name", CALLS)
def test_each_run_asks_for_itself(name: str, tmp_path: Path) -> None:
    output, said = tmp_path / "folder" / "output", tmp_path / "said"
    output.parent.mkdir()
    script = SCRIPT.format(name=name, arguments=CALLS[name])
    command = [sys.executable, "-c", script, str(output), str(output.with_name("other"))]
    server = ForkServer(command, str(output.parent), Path(str(FAULTS)), {}, limit_s=60)
    try:
        assert server.run(said).code == 2
        output.touch()
        assert server.run(said).code == 0
    finally:
        server.close()
