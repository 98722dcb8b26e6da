# SPDX-License-Identifier: Apache-2.0
"""The weights of the bootstrap, as docs/metrics.md defines them."""

import numpy as np
import scipy.stats

GOLDEN = 0x9E3779B97F4A7C15


def mix(values: np.ndarray) -> np.ndarray:
    """SplitMix64's next number after each state, as docs/metrics.md has it."""
    z = values + np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def weights_of(seed: int, replicate: int, indices: np.ndarray) -> np.ndarray:
    """Poisson(1) numbers by the inverse of the distribution function."""
    with np.errstate(over="ignore"):
        key = mix(mix(np.array([seed], np.uint64)) + np.uint64(replicate))
        uniform = mix(key + indices.astype(np.uint64) * np.uint64(GOLDEN))
    # A uniform number of 64 bits as a double may be off by 2^-54: far from any step of the function.
    return scipy.stats.poisson(1).ppf((uniform + 0.5) / 2.0**64).astype(int)
