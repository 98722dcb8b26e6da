#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# expect_exit.sh CODES PATTERN COMMAND…: the command ends with one of CODES ("3" or "3|7") and exactly
# one line of its output matches PATTERN (an extended regular expression). A code in that line, as in
# "tally: error[3]", is the one it ends with, unless a signal ended it, of which launchers make 128 and more, or MPICH's
# its bare number, 11.
set -uo pipefail

wanted=$1
pattern=$2
shift 2
output=$("$@" 2>&1)
code=$?
printf '%s\n' "$output"
if [[ ! $code =~ ^($wanted)$ ]]; then
  echo "exit $code, expected $wanted"
  exit 1
fi
matches=$(grep -Ec -- "$pattern" <<<"$output")
if [[ $matches -ne 1 ]]; then
  echo "$matches lines match '$pattern', expected 1"
  exit 1
fi
told=$(grep -E -- "$pattern" <<<"$output" | sed -nE 's/^tally: error\[([0-9]+)\].*/\1/p')
if [[ -n $told && $told != "$code" && $code -lt 128 && $code -ne 11 ]]; then
  echo "exit $code, the line says $told"
  exit 1
fi
