#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# jobs/setup.sh compiles what does not need LibTorch while it installs LibTorch; played with a cmake that keeps its
# arguments alone, and a wheel with nothing in it.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$project/tests/scripts/setup_copy.sh"

# early_cmake BIN FIRST_BUILD: a cmake that only keeps its arguments and a cache; the commands FIRST_BUILD stand for
# the build without LibTorch.
early_cmake() {
  write_program "$1/cmake" <<END
if [[ \$1 == --version ]]; then exec "$(command -v cmake)" "\$@"; fi
printf '%s ' "\$@" >>"$scratch/calls"
echo >>"$scratch/calls"
if [[ \$1 == --preset ]]; then
  mkdir -p "$copy/build"
  printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\n' "$copy" >"$copy/build/CMakeCache.txt"
  printf '%s\n' "\$@" | sed -n 's/^-D\([^=]*\)=/\1:STRING=/p' >>"$copy/build/CMakeCache.txt"
elif [[ \$* == *' tally_without_torch '* ]]; then
  $2
fi
END
}

compiles_while_it_installs() {
  local bin
  local -a calls
  rm -rf "$TALLY_ENV" "$copy/build" "$scratch/calls"
  bin=$(fake_bin apt-get)
  early_cmake "$bin" 'exit 1' # whose failure is for the build to tell
  PATH=$bin expect_exit 0 setup
  mapfile -t calls <"$scratch/calls"
  [[ ${calls[0]} == *TALLY_TORCH_LATER=ON* ]] || fail "configured first: ${calls[0]}"
  [[ ${calls[1]} == *'--target tally_without_torch'* ]] || fail "built first: ${calls[1]}"
  [[ ${calls[2]} == *TALLY_TORCH_LATER=OFF*TALLY_CUDA=AUTO*TALLY_UNITY=ON* && ${calls[2]} != *--fresh* ]] ||
    fail "configured then: ${calls[2]}"
  [[ ${calls[3]} == *'--target tally_program'* ]] || fail "built then: ${calls[3]}"
  PATH=$bin expect_exit 0 setup
  [[ $(grep -c TORCH_LATER "$scratch/calls") == 2 ]] || fail "an environment that is there was waited for"
}

compiles_tests_in_the_same_way_and_keeps_the_choice() {
  local bin
  local -a calls
  rm -rf "$TALLY_ENV" "$copy/build" "$scratch/calls"
  bin=$(fake_bin apt-get)
  early_cmake "$bin" true
  PATH=$bin expect_exit 0 setup --tests
  sed -i 's/^TALLY_UNITY:STRING=ON$/TALLY_UNITY:STRING=OFF/' "$copy/build/CMakeCache.txt"
  PATH=$bin expect_exit 0 setup --tests --cuda none # is configured anew
  mapfile -t calls <"$scratch/calls"
  [[ ${calls[1]} == *'--target tally_without_torch'* ]] || fail "built first: ${calls[1]}"
  [[ ${calls[2]} == *TALLY_UNITY=ON* && ${calls[2]} != *--fresh* ]] || fail "configured then: ${calls[2]}"
  [[ ${calls[3]} == *'--target all'* ]] || fail "built then: ${calls[3]}"
  [[ ${calls[4]} == *--fresh*TALLY_CUDA=OFF*TALLY_UNITY=OFF* ]] || fail "configured anew: ${calls[4]}"
}

stops_compiling_when_an_installation_fails() {
  local bin
  rm -rf "$TALLY_ENV" "$copy/build" "$scratch/compiler"
  require absent "$(printf '0%.0s' {1..64})"
  bin=$(fake_bin apt-get)
  early_cmake "$bin" "echo \$\$ >'$scratch/compiler'; exec sleep 600"
  PATH=$bin expect_exit 5 setup
  expect_line "$scratch/err" "pip install failed"
  [[ -s $scratch/compiler ]] || fail "nothing was compiled meanwhile"
  timeout 20 tail --pid="$(<"$scratch/compiler")" -f /dev/null || fail "it compiles although the set-up has ended"
}

write_wheel torch
require torch
compiles_while_it_installs
compiles_tests_in_the_same_way_and_keeps_the_choice
stops_compiling_when_an_installation_fails
