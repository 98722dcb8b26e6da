#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# jobs/setup.sh installs only what the lock files hold, and these agree with the requirements.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$project/tests/scripts/setup_copy.sh"

# A file that is not the one of the lock, and a package that the lock has no hash of, are refused.
installs_only_what_they_hold() {
  expect_exit 0 setup --no-build
  rm "$TALLY_ENV/tally-made" # as somebody else's it is not made anew after each failure, which takes long
  write_wheel other
  require other "$(printf '0%.0s' {1..64})"
  expect_exit 5 setup --no-build
  expect_line "$scratch/err" "DO NOT MATCH THE HASHES"
  sed -i 's/ --hash=.*//' "$copy/data_tools/requirements.lock"
  expect_exit 5 setup --no-build
  expect_line "$scratch/err" "Hashes are required in --require-hashes mode"
  if "$TALLY_ENV/bin/python" -c 'import other' 2>/dev/null; then fail "it was installed all the same"; fi
  expect_exit 0 setup --no-build --any-wheels
  "$TALLY_ENV/bin/python" -c 'import other' || fail "--any-wheels did not install it"
}

# As jobs/lock-requirements.sh writes them: each package with hashes, and nothing that names an index.
are_made_of_pins_and_hashes() {
  local lock
  for lock in data_tools/requirements{,-dashboards,-onnx}.lock tests/requirements.lock jobs/requirements-cuda.lock; do
    if grep -vE '^[a-z0-9-]+==[^ /]+( ; [^/]+)? \\$|^    --hash=sha256:[0-9a-f]{64}( \\)?$' "$project/$lock" >"$scratch/out"; then
      fail "$lock: $(head -n 3 "$scratch/out")"
    fi
    [[ -s $project/$lock ]] || fail "$lock is empty"
  done
}

agree_with_the_requirements() {
  local file pin
  for file in data_tools/requirements{,-dashboards,-onnx}.txt tests/requirements.txt jobs/requirements-cuda.txt; do
    while read -r pin; do
      grep --quiet "^${pin//./\\.} " "$project/data_tools/requirements.lock" "$project/${file/%.txt/.lock}" ||
        fail "no lock has $pin of $file; run jobs/lock-requirements.sh"
    done < <(grep -v '^#' "$project/$file")
  done
}

are_made_of_pins_and_hashes
agree_with_the_requirements
installs_only_what_they_hold
