#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All shell scripts are clean to shellcheck; 77 (skipped) where it is not installed or git lists no files.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v shellcheck >/dev/null || ! git rev-parse --is-inside-work-tree >/dev/null; then
  echo "skipped: this needs shellcheck (jobs/setup.sh --with-lint) and a git clone"
  exit 77
fi
../lint.sh shell
