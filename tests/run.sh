#!/usr/bin/env bash
# Sets Tally up and runs its tests: tests/run.sh [--all] [argument of ctest…]
#
#   --all   also the long ones, which carry CTest's label 'heavy': trainers, hostile folders, saved units, the
#           whole suite for GPUs on the simulated one
#
# With arguments of ctest, which come after --all, nothing is left out: tests/run.sh -R exact runs some,
# tests/run.sh -N lists all. Real data sets are found in TALLY_DATA_DIR;
# tests that need one are skipped where it is absent.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../jobs/lib/common.sh"

if [[ ${1:-} == --help ]]; then
  show_help
  exit 0
fi
choice=()
case ${1:-} in
  --all) shift ;;
  '') choice=(--label-exclude heavy) ;;
esac
settings=$("$tally_root/jobs/setup.sh" --print --tests)
eval "$settings"
exec ctest --test-dir "$(dirname "$TALLY_BIN")" --output-on-failure --no-tests=error --parallel "$(nproc)" "${choice[@]}" "$@"
