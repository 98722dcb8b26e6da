#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs on a GPU what no other test can show, and measures it.
#
# Usage: tests/gpu/contact.sh [--build DIR] [--results DIR] [PART…]
#
#   --build DIR     a build with CUDA; without its tests, or from an archive,
#                   the steps that need them are skipped          default: build
#   --results DIR   logs and figures                              default: gpu-results
#   --only REGEX    rates whose names it finds                    default: all
#   --images N      of 224 x 224 pixels that rates are taken over default: 32768
#   PART            machine   what it has, and its ceilings        2 minutes
#                   correct   kernels, graphs, NCCL, end to end    9 minutes
#                   rates     images per second, beside PyTorch    9 minutes
#                   families  networks that nothing was tuned for  9 minutes
#                   packages  models compiled for this GPU (.pt2) 11 minutes
#                   inspect   compute-sanitizer and ncu            9 minutes
#                   default: all, one after another
#
# TALLY_PYTHON is a Python with torch (default: python3). TALLY_DATA_DIR holds real data sets, without which
# the end-to-end tests fail.
# Every step has a time limit, and runs whatever became of those before. Figures are added to
# RESULTS/figures.jsonl as they are found; `figures.py --document` writes them into
# docs/benchmarks-gpu.md. Exit codes: 0 nothing failed, 1 a step did, 2 wrong usage, 5 there is no GPU or
# no program.
set -uo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../../jobs/lib/common.sh"
source "$tally_root/tests/gpu/contact_steps.sh"

build=build results=gpu-results only='' images=32768 parts=()
while (($# > 0)); do
  case $1 in
    --build) build=${2:?--build needs a folder}; shift ;;
    --results) results=${2:?--results needs a folder}; shift ;;
    --only) only=${2:?--only needs a regular expression}; shift ;;
    --images) images=${2:?--images needs a number}; shift ;;
    --help) show_help; exit 0 ;;
    machine | correct | rates | families | packages | inspect) parts+=("$1") ;;
    *) die 2 "unknown argument '$1'. See tests/gpu/contact.sh --help." ;;
  esac
  shift
done
if ((${#parts[@]} == 0)); then parts=(machine correct rates families packages inspect); fi
build=$(realpath -m "$build")
results=$(realpath -m "$results")
figures=$results/figures.jsonl
python=${TALLY_PYTHON:-python3}
prepare_environment
mkdir -p "$results" || exit 5
cd "$tally_root" || exit 5

failed=0
for part in "${parts[@]}"; do
  log=$results/$part.log
  "run_$part"
done
"$python" tests/gpu/figures.py "$figures"
((failed == 0))
