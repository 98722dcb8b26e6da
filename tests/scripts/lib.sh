# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # used by the tests that source this
# For the tests of the scripts: a scratch folder, a machine with programs hidden, and plain assertions.

project=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

# expect_line FILE TEXT: the file has a line that holds this text.
expect_line() {
  if ! grep --quiet --fixed-strings -e "$2" "$1"; then
    cat "$1" >&2
    fail "expected a line with: $2"
  fi
}

expect_no_line() {
  if grep --quiet --fixed-strings -e "$2" "$1"; then
    cat "$1" >&2
    fail "expected no line with: $2"
  fi
}

# expect_exit CODE COMMAND…: runs the command; its output goes to $scratch/out and $scratch/err.
expect_exit() {
  local expected=$1 code=0
  shift
  "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
  if ((code != expected)); then
    cat "$scratch/out" "$scratch/err" >&2
    fail "exit code $code instead of $expected from: $*"
  fi
}

# fake_bin PROGRAM…: a folder with all programs on PATH but these, to be the PATH of a poorer machine.
fake_bin() {
  local bin=$scratch/bin name folder
  local -a folders
  rm -rf "$bin"
  mkdir "$bin"
  IFS=: read -ra folders <<<"$PATH"
  for folder in "${folders[@]}"; do # the first on PATH wins, as ever
    cp --symbolic-link --no-clobber "$folder"/* "$bin" 2>/dev/null || true
  done
  for name in "$@"; do rm -f "$bin/$name"; done
  echo "$bin"
}

# write_program FILE: an executable script, its body from stdin. What stood there goes first: in a fake_bin
# it is a link, and writing through it would replace the machine's own program.
write_program() {
  rm -f "$1"
  { echo '#!/usr/bin/env bash'; cat; } >"$1"
  chmod +x "$1"
}
