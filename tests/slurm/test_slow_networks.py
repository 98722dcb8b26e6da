# SPDX-License-Identifier: Apache-2.0
"""Nodes that are far from one another, and a network that loses packets: the digests of one process."""

import re
import sys
from pathlib import Path

import pytest
import small
from cluster import JOBS, Cluster
from conftest import Case, digests_of, start_or_skip


# Connects to the daemon of the other node, for which a packet goes there and another one comes back.
CONNECT = """
import socket, time
begin = time.monotonic()
socket.create_connection(("node2", 17802), timeout=30).close()
print(time.monotonic() - begin)
"""


@pytest.mark.parametrize("ranks_of_node", [1, 2])
@pytest.mark.parametrize(("nodes", "delay_ms", "loss"), [(4, 5, 0.01), (16, 1, 0.03)])
def test_digests(nodes: int, delay_ms: int, loss: float, ranks_of_node: int, new_cluster: Cluster, digits: Case,
                 tmp_path: Path) -> None:  # fmt: skip
    start_or_skip(new_cluster, SLURM_ONE_NODES=nodes, SLURM_ONE_DELAY_MS=delay_ms, SLURM_ONE_LOSS=loss)
    connected = new_cluster.tool("on", "node1", sys.executable, "-c", CONNECT)
    assert float(connected.stdout) >= 2 * delay_ms / 1e3, connected
    # Not srun: Slurm's PMIx does not connect again where a packet is lost, and without direct connections its barriers let
    # ranks go early (docs/clusters.md).
    new_cluster.batch(
        f"--nodes={nodes}", f"--ntasks-per-node={ranks_of_node}", JOBS / "evaluate-cpu.sbatch", *digits.options,
        "--output", tmp_path / "run", cwd=tmp_path, limit_s=240, LAUNCHER="mpirun",
    ).must_complete()  # fmt: skip
    assert len(small.report(tmp_path / "run")["ranks"]) == nodes * ranks_of_node
    assert digests_of(tmp_path / "run") == digits.digests
    assert new_cluster.tool("stop").returncode == 0
    counts = (new_cluster.folder / "log" / "relay.log").read_text()
    (lost,) = re.findall(r"(\d+) packets lost", counts)
    assert int(lost) > 0, counts
