# SPDX-License-Identifier: Apache-2.0
"""Makes small mistakes in the code that runs on GPUs, one at a time, and counts how many the tests notice.

    python tests/simulated_gpu/mutations.py --build build [--only 3,17]

Needs a built tree, and changes its sources while it runs: each mistake is compiled and tested in place and taken back, a quarter
of a minute to a minute and a half each. Exit code: 0 if all are noticed but those that are marked.
"""

import argparse
import contextlib
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["simulated_kernels_test", "simulated_loop_test", "simulated_segmentation_test"]
# The short ones first: the first test that fails is the last to run.
TESTS = [
    ("simulated_kernels_test", "*AtEdges"),
    ("simulated_segmentation_test", "*"),
    ("simulated_loop_test", "*"),
    ("simulated_kernels_test", "-*AtEdges"),
]
TIME_LIMIT_S = 180


class Edit(NamedTuple):
    file: str
    old: str  # stands once in the file
    new: str
    unnoticed: str = ""  # why no test notices it


def in_file(file: str, *edits: tuple[str, ...]) -> list[Edit]:
    return [Edit(file, *edit) for edit in edits]


EDITS = [
    *in_file(
        "src/metrics/passes/multiclass_and_token_kernels.cu",
        ("if (i >= rows.num_rows) return;", "if (i > rows.num_rows) return;"),
        ("other < kLanes; ++other", "other < kLanes - 1; ++other"),
        ("__shfl_sync(mask, word, other, kLanes)", "__shfl_sync(mask, word, other ^ 1, kLanes)"),
        ("if (!good_label) atomicMax(&bad.label, mark);", "if (!good_label) bad.label = mark;"),
        ("if (wrong_kind) atomicMax(&bad.wrong_kind, mark);", "if (wrong_kind) bad.wrong_kind = mark;"),
        ("  if (lane != 0) return;\n", ""),
        ("if (lane == 0) found = token_row(row);", "found = token_row(row);"),
        ("row.label < num_classes);", "row.label <= num_classes);"),
        ("if (i < num_sums) exact::carry", "if (i < num_sums - 1) exact::carry"),
        ("(rows.num_rows + kRowsPerBlock - 1)", "(rows.num_rows + kRowsPerBlock - 2)"),
        ("(num_sums + kThreads - 1) / kThreads", "num_sums / kThreads"),
        ("const std::int64_t place = i % tokens.num_places;", "const std::int64_t place = i / tokens.num_sequences;"),
    ),
    *in_file(
        "src/metrics/passes/multilabel_kernel.cu",
        ("if (i >= rows.num_rows) return;", "if (i > rows.num_rows) return;"),
        ("if (!verdict.fits_kind) atomicMax(&bad.wrong_kind, mark);", "if (!verdict.fits_kind) bad.wrong_kind = mark;"),
        ("rows.place.targets + first}", "rows.place.targets + i}"),
    ),
    *in_file(
        "src/metrics/passes/regression_kernel.cu",
        ("output += kLanesPerRow", "output += kLanesPerRow + 1"),
        ("if (lane == 0) values.found.marks[i] = mark;", "values.found.marks[i] = mark;"),
        ("0xffu <<", "0x7fu <<"),
        ("threadIdx.x / kLanesPerRow;", "threadIdx.x % kRowsPerBlock;"),
    ),
    *in_file(
        "src/metrics/passes/predict_pixels_kernel.cu",
        ("if (*score > best) {", "if (*score >= best) {"),
        ("for (std::int32_t c = 1;", "for (std::int32_t c = 2;"),
        ("i >= pixels.num_images * pixels.num_pixels", "i > pixels.num_images * pixels.num_pixels"),
    ),
    *in_file(
        "src/graph_optimizer/kernels/max_pool.cu",
        ("{first < 0 ? 0 : first, end < length ? end : length}", "{first < 0 ? 0 : first, end < length ? end : length - 1}"),
        ("key > keys.at[k] ? key", "key < keys.at[k] ? key"),
        ("if (number >= num_threads) return;", "if (number > num_threads) return;"),
    ),
    *in_file(
        "src/graph_optimizer/kernels/space_to_depth_kernel.cu",
        ("x < 0 || x >= work.width", "x < 0 || x > work.width"),
        ("if (pixel >= 4) return 0;", "if (pixel > 4) return 0;"),
    ),
    *in_file(
        "src/preprocess/pixel_conversion.cu",
        ("  __syncthreads();\n", ""),
        ("if (i >= conversion.num_pixels) return;", "if (i >= conversion.num_pixels - 1) return;"),
        ("group < num_groups; group += step", "group < num_groups - 1; group += step"),
    ),
    *in_file(
        "src/metrics/passes/multiclass_pass.cpp",
        ("  stream.fill_zero(std::as_writable_bytes(std::span(&found->bad, 1)));\n", ""),
        ("  stream.copy_to_device(class_weights_.data(), locked.bytes());\n  stream.synchronize();\n",
         "  stream.copy_to_device(class_weights_.data(), locked.bytes());\n",
         "the memory is freed next, which waits, too"),
    ),
    *in_file(
        "src/metrics/passes/token_pass.cpp",
        ("  stream.fill_zero(std::as_writable_bytes(std::span(&found->bad, 1)));\n", ""),
        ("first(to_size(bytes))", "first(to_size(bytes) - 8)"),
    ),
    *in_file(
        "src/metrics/passes/multilabel_pass.cpp",
        ("  stream.fill_zero(std::as_writable_bytes(std::span(found.bad(), 1)));\n", ""),
    ),
    *in_file(
        "src/metrics/passes/segmentation_pass.cpp",
        ("if (predictions_.num_bytes() < bytes) {", "if (predictions_.num_bytes() < bytes / 2) {"),
    ),
    *in_file(
        "src/metrics/passes/device_accumulator.cpp",
        ("    begin_fetch();  // the stream puts it after a fetch that is under way\n    fetch_done_.wait();\n",
         "    begin_fetch();\n"),
        ("  fetch_done_.record(stream_);\n  is_fetching_", "  is_fetching_"),
        ("  carry();\n  stream_.copy_to_host(fetched_.data(), on_device_.bytes());",
         "  stream_.copy_to_host(fetched_.data(), on_device_.bytes());\n  carry();",
         "the host carries, too"),
    ),
    *in_file(
        "src/evaluate/in_flight_batch.cpp",
        ("  compute.wait_for(copied);\n", ""),
        ("  copied.record(copies);\n  compute.wait_for(copied);\n",
         "  compute.wait_for(copied);\n  copied.record(copies);\n"),
        ("on_device.targets = rebased(batch.targets, batch.memory.data(), memory.data());\n", ""),
    ),
    *in_file(
        "src/evaluate/loop.cpp",
        ("      slot.done.wait();\n", ""),
        ("if (started_ - completed_ == ring_.size()) complete();", "if (started_ - completed_ > ring_.size()) complete();"),
        ("    slot.done.record(inputs_.stream);\n    counts_.batch_enqueued(batch.samples.count);",
         "    counts_.batch_enqueued(batch.samples.count);"),
        ("    counts_.add_counts_of_host();\n", ""),
    ),
]


@contextlib.contextmanager
def made(edit: Edit):
    path = ROOT / edit.file
    text = path.read_text()
    if text.count(edit.old) != 1:
        sys.exit(f"{edit.file} has {text.count(edit.old)} times: {edit.old}")
    try:
        path.write_text(text.replace(edit.old, edit.new))
        yield
    finally:
        path.write_text(text)


def verdict(build: Path) -> str:
    """What notices the mistake; empty if nothing does."""
    compiling = subprocess.run(
        ["cmake", "--build", build, "--target", *PROGRAMS], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if compiling.returncode != 0:
        sys.exit("it does not compile")
    for name, choice in TESTS:
        program = build / "tests" / "simulated_gpu" / name
        command = [program, "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={choice}"]
        try:
            ending = subprocess.run(command, capture_output=True, timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"{name}, by its time limit"
        if ending.returncode != 0:
            return name
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--only", help="numbers of edits")
    options = parser.parse_args()
    chosen = [int(number) for number in options.only.split(",")] if options.only else range(len(EDITS))
    if verdict(options.build):
        sys.exit("the tests fail without any mistake")
    noticed, surprises = 0, 0
    for number in chosen:
        edit = EDITS[number]
        with made(edit):
            by = verdict(options.build)
        noticed += bool(by)
        surprises += bool(by) == bool(edit.unnoticed)
        change = " -> ".join(" ".join(text.split()) or "nothing" for text in (edit.old, edit.new))
        print(f"{number:2}  {by or 'NOT NOTICED':28}  {edit.file}: {change}", flush=True)
    verdict(options.build)  # builds what stands there
    print(f"{noticed} of {len(chosen)} noticed")
    sys.exit(surprises > 0)


if __name__ == "__main__":
    main()
