# SPDX-License-Identifier: Apache-2.0
"""The rows of the fault matrix: which faults there are, and the scenes that make them."""

import errno
from dataclasses import dataclass

from fault_scenes import (
    ENOTSUPP, Scene, a_rank_is_asked, asked_to_stop, bad_data, bad_model, busy_output, clock_set_back,
    cut_short, earlier_result, failing_disk, full_shared_memory, hanging_read, killed, locked_data, no_gpu,
    no_locks, no_memory, not_finite, one_sample, other_build, other_data, other_options, passing,
    segmentation_fault, silent_nccl, stopped, straggler, throwing_model, too_few_gpus,
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    number: int
    fault: str
    scenes: tuple[Scene, ...]
    by_tests: bool = False  # with fakes, in test programs, for want of a GPU or of so much memory


GPU_TEST = "simulated_gpu/simulated_gpu_test"
ROWS = (
    Row(1, "a rank is killed (SIGKILL)", (killed,)),
    Row(2, "a rank throws: in its model, for want of memory", (throwing_model, no_memory)),
    Row(3, "a rank hangs: stopped, in a read", (stopped, hanging_read)),
    Row(4, "a rank is slow", (straggler,)),
    Row(5, "data set missing, of another type, of another rank",
        (bad_data("missing"), bad_data("image_dtype"), bad_data("label_rank"))),
    Row(6, "a label out of range", (bad_data("label_too_large"),)),
    Row(7, "NaN in the model's outputs", (not_finite,)),
    Row(8, "data set cut short", (cut_short,)),
    Row(9, "a bit flipped: in samples, in checksums", (bad_data("flipped_pixel"), bad_data("flipped_checksum"))),
    Row(10, "a filter that is not allowed", (bad_data("unknown_filter"),)),
    Row(11, "file locks refused (ENOLCK, 524), data set locked by another",
        (no_locks(errno.ENOLCK), no_locks(ENOTSUPP), locked_data)),
    Row(12, "model is a state_dict, is cut short", (bad_model("state_dict"), bad_model("truncated"))),
    Row(13, "model takes other inputs, has other classes", (bad_model("other_channels"), bad_model("more_classes"))),
    Row(14, "no GPU, fewer GPUs than ranks (simulated)", (no_gpu, too_few_gpus)),
    Row(15, "ranks with different versions of NCCL",
        (passing("comm/comm_nccl_test", "*RanksWithDifferentVersions*:*AnotherVersionIsRefused*", 2, 5),), True),
    Row(16, "NCCL finds no answer", (silent_nccl("peer_hangs"), silent_nccl("abort_hangs")), True),
    Row(17, "disk full, quota, EIO of a sync",
        (failing_disk("w", errno.ENOSPC), failing_disk("w", errno.EDQUOT), failing_disk("s", errno.EIO))),
    Row(18, "asked to stop: SIGUSR1 by the launcher, SIGTERM to a rank", (asked_to_stop, a_rank_is_asked)),
    Row(19, "more ranks than samples", (one_sample,)),
    Row(20, "no samples", (bad_data("no_samples"),)),
    Row(21, "output holds a result, is in use", (earlier_result, busy_output)),
    Row(22, "more than 2³¹-1 elements",
        (passing("comm/comm_pure_test", "*CountsBeyond32Bits*"),
         passing("comm/comm_test", "WindowedGatherTest.*:ShareInTurnTest.*")), True),
    Row(23, "SIGSEGV", (segmentation_fault,)),
    Row(24, "a GPU reports an uncorrectable error (Xid)", (passing(GPU_TEST, "*ErrorsNameTheGpu*", 1, 5),), True),
    Row(25, "clock set back by a year, /dev/shm full", (clock_set_back, full_shared_memory)),
    Row(26, "ranks with other options, another build, other data", (other_options, other_build, other_data)),
)  # fmt: skip
