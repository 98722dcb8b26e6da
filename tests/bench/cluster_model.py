# SPDX-License-Identifier: Apache-2.0
"""What the phases of a run take: fitted to runs on one machine, and what that says of clusters with a core for each rank.

On a machine that is full a phase takes a sum of costs: a constant; processor time of each rank, of each pair of ranks (which
crowd the machine's cores and caches), of each pair of ranks of a node (which map each other's memory) and of each node; and
network latencies in sequence, of which there is a constant number, some for each doubling of the number of nodes, and some for
each node. Lost packets cost by the number of nodes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

SAMPLES, BATCH, IMAGE_BYTES = 50_000, 32, 224 * 224 * 3  # ImageNet's validation set, a ResNet-18
MODEL_BYTES = 47e6
BUILD_S = 0.3  # beyond a linear layer: the network, its packed weights, the kernels of three samples; assumed
STATE_BYTES = 8e6  # with a confusion matrix of 1,000 classes
ROW_BYTES = 36  # of predictions.h5
# Assumed of the cluster: a network (large messages in pieces, so that a byte passes a node twice), and storage that gives
# each rank so much.
LATENCY_S, NETWORK_BYTES_PER_S, FILE_BYTES_PER_S = 2e-6, 10e9, 1e9
SHORTEST_S = 0.005  # what takes less is not fitted more closely


@dataclass(frozen=True)
class Layout:
    ranks: int
    nodes: int = 1
    delay_s: float = 0.0  # from node to node
    loss: float = 0.0

    def costs(self) -> list[float]:
        doublings = math.log2(self.nodes)
        several = self.nodes > 1
        pairs = self.ranks * self.ranks
        return [1, self.ranks, pairs, pairs / self.nodes, self.nodes * several, self.delay_s * several,
                self.delay_s * doublings, self.delay_s * (self.nodes - 1), self.loss * (self.nodes - 1)]  # fmt: skip


COSTS = ("constant, s", "each rank, s", "each pair of ranks, s", "each pair of ranks of a node, s", "each node, s", "latencies",
         "latencies, by log2(nodes)", "latencies, by nodes - 1", "lost share by nodes - 1, s")  # fmt: skip


@dataclass(frozen=True)
class Phase:
    """The weights of COSTS."""

    weights: tuple[float, ...]

    @classmethod
    def fitted(cls, layouts: Sequence[Layout], seconds: Sequence[float]) -> "Phase":
        """With no cost below 0, and all runs of the same weight, as long as they may take."""
        scale = 1 / np.maximum(seconds, SHORTEST_S)
        return cls(tuple(nnls(np.array([one.costs() for one in layouts]) * scale[:, None], scale * np.asarray(seconds))[0]))

    def seconds(self, layout: Layout) -> float:
        return float(np.dot(self.weights, layout.costs()))

    def latencies(self, nodes: int) -> float:
        """How often in sequence a message goes from node to node."""
        return self.weights[5] + self.weights[6] * math.log2(nodes) + self.weights[7] * (nodes - 1)


def on_cluster(ranks: int, ranks_of_node: int, phases: dict[str, Phase], cores: int, rate: float) -> dict[str, float]:
    """An evaluation on a cluster with a core for each rank, without what its launcher takes. `phases`: fitted on this
    machine, whose `cores` were full, so that what a rank adds to them is processor time. `rate`: samples that a rank
    computes in a second; it reads batches ahead, so that the slower of the two counts."""
    nodes = math.ceil(ranks / ranks_of_node)

    def through(size: float) -> float:
        return 2 * size / NETWORK_BYTES_PER_S if ranks > 1 else 0.0

    def network_s(name: str) -> float:
        return phases[name].latencies(nodes) * LATENCY_S if nodes > 1 else 0.0

    def measured_s(name: str) -> float:
        constant, of_rank, _, of_pair, *_ = phases[name].weights  # each has a core: they do not crowd one another
        return constant + (of_rank + of_pair * min(ranks, ranks_of_node)) * cores + network_s(name)

    largest_share = math.ceil(math.ceil(SAMPLES / BATCH) / ranks) * BATCH
    read_s, compute_s = largest_share * IMAGE_BYTES / FILE_BYTES_PER_S, largest_share / rate
    start_s = measured_s("start")
    model_s = measured_s("model") + MODEL_BYTES / FILE_BYTES_PER_S + through(MODEL_BYTES) + BUILD_S + 3 / rate
    reduce_s = through(STATE_BYTES) + network_s("reduce")
    gather_s = SAMPLES * ROW_BYTES / NETWORK_BYTES_PER_S + ranks * LATENCY_S + network_s("gather")
    in_all_s = start_s + model_s + max(read_s, compute_s) + reduce_s + gather_s
    return {"start, s": start_s, "model, s": model_s, "read, s": read_s, "compute, s": compute_s, "reduce, s": reduce_s,
            "gather, s": gather_s, "in all, s": in_all_s, "of perfect speed-up": SAMPLES / rate / ranks / in_all_s}  # fmt: skip
