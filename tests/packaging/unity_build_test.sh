#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program as jobs/setup.sh builds it for users: without CUDA, several bodies at a time. Names in the unnamed
# namespaces of such bodies meet, which no other build notices; its results have the digests of the other build's.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
: "${TALLY_TEST_BUILD:?run this through ctest}" "${TALLY_TEST_LIBTORCH:?}" "${TALLY_PYTHON:?}"

export CCACHE_BASEDIR=$project
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
{
  cmake -S "$project" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTALLY_UNITY=ON -DTALLY_CUDA=OFF \
    "-DLibTorch_ROOT=$TALLY_TEST_LIBTORCH" "-DTALLY_PYTHON=$TALLY_PYTHON" &&
    cmake --build "$scratch/build" --target tally_program
} >"$scratch/log" 2>&1 || fail "the build: $(tail -n 40 "$scratch/log")"

"$TALLY_PYTHON" "$project/data_tools/prepare_digits.py" --split test --output "$scratch/digits.h5" >/dev/null
"$TALLY_PYTHON" "$project/data_tools/export_model.py" --output "$scratch/digits.pt" \
  --model "$project/examples/digits/model.py:digits_convnet" --input-shape 1,8,8 >/dev/null 2>&1

# digests PROGRAM: of an evaluation by it.
digests() {
  "$1" evaluate --model "$scratch/digits.pt" --data "$scratch/digits.h5" --output "$scratch/out" --overwrite >/dev/null 2>&1 ||
    fail "$1 cannot evaluate the digits"
  "$TALLY_PYTHON" -c 'import json, sys; d = json.load(open(sys.argv[1]))["digests"]; print(d["state"], d["predictions"])' \
    "$scratch/out/report.json"
}

together=$(digests "$scratch/build/tally") single=$(digests "$TALLY_TEST_BUILD/tally")
[[ -n $single && $together == "$single" ]] || fail "digests differ: $together, $single"
