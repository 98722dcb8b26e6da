# SPDX-License-Identifier: Apache-2.0
"""What the phases of a run take on a cluster with a core for each rank, from costs measured on one machine.

An evaluation of ImageNet's validation set with a ResNet-18. What one machine cannot show is assumed: a network of 2 us
and 10 GB/s a node (a tree of log2(ranks) steps, large messages in pieces, so that a byte passes a node twice), storage
that gives each rank 1 GB/s. What the site's launcher takes is not in it, nor storage that gets slower with many ranks.
"""

import math

SAMPLES, BATCH, IMAGE_BYTES = 50_000, 32, 224 * 224 * 3
MODEL_BYTES = 47e6
LOAD_S = 0.2  # until the model can run, its file in the page cache; assumed
PACK_S = 0.1  # weights, and the kernels of three samples; assumed
STATE_BYTES = 8e6  # with a confusion matrix of 1,000 classes
ROW_BYTES = 36  # of predictions.h5
LATENCY_S, NETWORK_BYTES_PER_S, FILE_BYTES_PER_S = 2e-6, 10e9, 1e9
PHASES = ("start, s", "model, s", "read, s", "compute, s", "reduce, s", "gather, s", "in all, s", "of perfect speed-up")


def phases(ranks: int, start_s: float, rate: float) -> dict[str, float]:
    """`rate`: samples that a rank computes in a second. It reads batches ahead: the slower of the two counts."""
    tree_s = math.ceil(math.log2(ranks)) * LATENCY_S

    def through(size: float) -> float:
        return 2 * size / NETWORK_BYTES_PER_S if ranks > 1 else 0.0

    largest_share = math.ceil(math.ceil(SAMPLES / BATCH) / ranks) * BATCH
    read_s, compute_s = largest_share * IMAGE_BYTES / FILE_BYTES_PER_S, largest_share / rate
    warm_up_s = 3 / rate + PACK_S
    model_s = MODEL_BYTES / FILE_BYTES_PER_S + tree_s + through(MODEL_BYTES) + LOAD_S + warm_up_s
    reduce_s = 2 * tree_s + through(STATE_BYTES)
    # Rank 0 takes the rows from each rank in turn.
    gather_s = SAMPLES * ROW_BYTES / NETWORK_BYTES_PER_S + ranks * LATENCY_S
    in_all_s = start_s + model_s + max(read_s, compute_s) + reduce_s + gather_s
    figures = [start_s, model_s, read_s, compute_s, reduce_s, gather_s, in_all_s, SAMPLES / rate / ranks / in_all_s]
    return dict(zip(PHASES, figures, strict=True))
