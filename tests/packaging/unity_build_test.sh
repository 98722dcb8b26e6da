#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program, first what does not need LibTorch, in the other way than the build that runs this test: with TALLY_UNITY, where
# names of bodies meet, or without it, which shows the includes that a body lacks. The results have the same digests.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
: "${TALLY_TEST_BUILD:?run this through ctest}" "${TALLY_TEST_LIBTORCH:?}" "${TALLY_PYTHON:?}"

export CCACHE_BASEDIR=$project
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unity=ON
if grep -q '^TALLY_UNITY:BOOL=ON$' "$TALLY_TEST_BUILD/CMakeCache.txt"; then unity=OFF; fi

# build TARGET OPTION…: what it says goes to $scratch/TARGET.
build() {
  local target=$1
  shift
  {
    cmake -S "$project" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTALLY_UNITY=$unity -DTALLY_CUDA=OFF "$@" &&
      cmake --build "$scratch/build" --target "$target"
  } >"$scratch/$target" 2>&1 || fail "the build of $target: $(tail -n 40 "$scratch/$target")"
}

build tally_without_torch -DTALLY_TORCH_LATER=ON
expect_line "$scratch/tally_without_torch" 'CXX object src/aggregate/'
for room in libtorch graph_optimizer model; do
  expect_no_line "$scratch/tally_without_torch" "CXX object src/$room/"
done
build tally_program -DTALLY_TORCH_LATER=OFF "-DLibTorch_ROOT=$TALLY_TEST_LIBTORCH" "-DTALLY_PYTHON=$TALLY_PYTHON"
expect_no_line "$scratch/tally_program" 'CXX object src/aggregate/' # it is there already

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

other=$(digests "$scratch/build/tally") this=$(digests "$TALLY_TEST_BUILD/tally")
[[ -n $this && $other == "$this" ]] || fail "digests differ: $other, $this"
