# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of namespaces on this machine, whose network delays and loses packets."""

import os
import secrets
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from commands import CommandError

TOOL = Path(__file__).resolve().parents[1] / "support" / "slurm-one-machine.sh"
MOST_RANKS_OF_NODE = 8


@dataclass(frozen=True)
class Network:
    nodes: int
    delay_ms: float = 0  # of a packet's way from node to node
    loss: float = 0


class OneMachineCluster:
    """It runs within the block, under `with`."""

    def __init__(self, network: Network) -> None:
        # Paths of sockets have to be short.
        self.folder = Path(tempfile.gettempdir()) / f"tally-slurm-{secrets.token_hex(4)}"
        self.variables = {
            "SLURM_ONE_DIR": str(self.folder / "cluster"), "SLURM_ONE_NODES": str(network.nodes),
            "SLURM_ONE_CPUS": str(MOST_RANKS_OF_NODE), "SLURM_ONE_GPUS": "0",
            "SLURM_ONE_DELAY_MS": str(network.delay_ms), "SLURM_ONE_LOSS": str(network.loss),
            "SLURM_PMIX_FENCE": "ring",  # as jobs/ have it: docs/clusters.md
            "SLURM_ONE_SILENCE_S": "300",  # Slurm's own processes wait for a core, too
        }  # fmt: skip
        self.network = network

    def launcher(self, ranks_of_node: int) -> list[object]:
        """What stands before a command of each rank; with `variables`."""
        size = ["-N", self.network.nodes, f"--ntasks-per-node={ranks_of_node}"]
        if self.network.loss == 0:
            return [TOOL, "exec", "srun", *size, "--mpi=pmix"]
        # Slurm's PMIx does not connect again where a packet is lost, and without connections of its own it has no ring.
        return [TOOL, "exec", "salloc", "--quiet", *size, "mpirun", "--oversubscribe", "--bind-to", "none"]

    def __enter__(self) -> "OneMachineCluster":
        self.folder.mkdir(mode=0o711)
        try:
            self._tool("start")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._tool("clean")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _tool(self, verb: str) -> None:
        ended = subprocess.run([TOOL, verb], env=os.environ | self.variables, capture_output=True, text=True)
        if ended.returncode != 0:
            raise CommandError(f"{TOOL.name} {verb}: exit {ended.returncode}\n{ended.stderr}")
