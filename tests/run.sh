#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets Tally up and runs its tests: tests/run.sh [--all [NAME…] [--record] | --heavy-seconds S] [argument of ctest…]
#
# Without arguments it runs the gate: what each change must pass. The other tests carry CTest's label 'heavy'.
#
#   --all [NAME…]       every test, or those named
#   --record            keeps in tests/heavy.txt which heavy tests passed, and at which revision
#   --heavy-seconds S   the gate, and as many heavy tests as fit into that time: first those not
#                       known to have passed, then those about changed parts
#
# Other arguments go to ctest, and nothing is left out then: tests/run.sh -R exact runs some, tests/run.sh -N lists
# all. Real data sets are found in TALLY_DATA_DIR; tests that need one are skipped where it is absent.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../jobs/lib/common.sh"

if [[ ${1:-} == --help ]]; then
  show_help
  exit 0
fi
choice=() names=() record='' seconds=''
case ${1:-} in
  --all)
    shift
    while [[ $# -gt 0 && ($1 == --record || $1 != -*) ]]; do
      if [[ $1 == --record ]]; then record=yes; else names+=("$1"); fi
      shift
    done
    ;;
  --heavy-seconds)
    seconds=${2:-}
    [[ $seconds =~ ^[0-9]+$ ]] || die 2 "--heavy-seconds is '$seconds', expected a number of seconds."
    shift 2
    ;;
  '') choice=(--label-exclude heavy) ;;
esac
if [[ -n $record ]]; then export TALLY_REQUIRE_DATA=1; fi # what was skipped has not passed
settings=$("$tally_root/jobs/setup.sh" --print --tests)
eval "$settings"
build=$(dirname "$TALLY_BIN")
if [[ -n $seconds ]]; then
  "$TALLY_PYTHON" "$tally_root/tests/heavy.py" stale "$build"
  choice=(--tests-regex "$("$TALLY_PYTHON" "$tally_root/tests/heavy.py" choose "$build" "$seconds")")
elif ((${#names[@]} > 0)); then
  known=$(ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p')
  for name in "${names[@]}"; do
    grep -qxF "$name" <<<"$known" || die 2 "there is no test '$name'. See tests/run.sh -N."
  done
  choice=(--tests-regex "^($(
    IFS='|'
    echo "${names[*]//./[.]}"
  ))\$")
fi
code=0
ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)" --output-junit "$build/tests.xml" \
  "${choice[@]}" "$@" || code=$?
if [[ -n $record ]]; then "$TALLY_PYTHON" "$tally_root/tests/heavy.py" record "$build" "$build/tests.xml"; fi
exit "$code"
