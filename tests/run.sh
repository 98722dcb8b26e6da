#!/usr/bin/env bash
# Sets Tally up and runs its tests: tests/run.sh [--all] [argument of ctest…]
#
#   --all   also the long ones, which carry CTest's label 'heavy': trainers, hostile folders, Slurm, the
#           whole suite for GPUs on the simulated one
#
# tests/run.sh -R exact runs some, tests/run.sh -N lists them. Real data sets are found in TALLY_DATA_DIR;
# tests that need one are skipped where it is absent.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../jobs/lib/common.sh"

if [[ ${1:-} == --help ]]; then
  show_help
  exit 0
fi
choice=(--label-exclude heavy)
if [[ ${1:-} == --all ]]; then
  choice=()
  shift
fi
settings=$("$tally_root/jobs/setup.sh" --print --tests)
eval "$settings"
exec ctest --test-dir "$(dirname "$TALLY_BIN")" --output-on-failure --parallel "$(nproc)" "${choice[@]}" "$@"
