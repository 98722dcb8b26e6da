#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the lock files, which name every Python package that jobs/setup.sh installs, with the SHA-256 of its files. To be
# run after a requirements*.txt has changed, and to take newer versions of what these need in turn.
#
# Usage: jobs/lock-requirements.sh [UV]
#
# UV is the program 'uv' (https://docs.astral.sh/uv), which pip installs. The index is uv's own, or what UV_DEFAULT_INDEX
# names; no lock file names one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

uv=${1:-uv}
all=$(mktemp --suffix=.lock)
trap 'rm -f "$all"' EXIT

# For every Python from 3.11 on and every platform: markers in the file say what is for which.
compile() {
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header "$@" >/dev/null
}

# So that all can be installed together.
compile data_tools/requirements{,-dashboards,-onnx}.txt tests/requirements.txt --output-file "$all"
compile data_tools/requirements.txt --constraint "$all" --output-file data_tools/requirements.lock
# The others are only installed beside that one, and need not repeat it.
mapfile -t known < <(sed -n 's/^\([^= ]*\)==.*/--no-emit-package=\1/p' data_tools/requirements.lock | sort -u)
for set in data_tools/requirements-{dashboards,onnx} tests/requirements; do
  compile "$set.txt" --constraint "$all" "${known[@]}" --output-file "$set.lock"
done
compile --no-deps jobs/requirements-cuda.txt --output-file jobs/requirements-cuda.lock
