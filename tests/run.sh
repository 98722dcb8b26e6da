#!/usr/bin/env bash
# Sets Tally up and runs all its tests. Arguments go to ctest: tests/run.sh -R exact, tests/run.sh -N
# Real data sets are found in TALLY_DATA_DIR; tests that need one are skipped where it is absent.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../jobs/lib/common.sh"

if [[ ${1:-} == --help ]]; then
  show_help
  exit 0
fi
settings=$("$tally_root/jobs/setup.sh" --print --tests)
eval "$settings"
exec ctest --test-dir "$(dirname "$TALLY_BIN")" --output-on-failure --parallel "$(nproc)" "$@"
