#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/contact.sh where there is no GPU: what it refuses, and that steps which fail, hang or cannot
# run are said and counted, and keep no other from running.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
contact=$project/tests/gpu/contact.sh

says() { grep -qE "$1" "$scratch/out" || fail "'$1' is not in: $(<"$scratch/out")"; }

expect_exit 2 "$contact" everything
expect_exit 5 "$contact" --build "$scratch/nothing"
expect_line "$scratch/err" 'Build first'

# A build that has the program alone, a GPU that nvidia-smi alone finds, a Python that lacks packages and fails.
mkdir -p "$scratch/bin" "$scratch/build"
write_program "$scratch/bin/nvidia-smi" <<<'echo "some GPU, 1, 2"'
write_program "$scratch/build/tally" <<<'echo "tally 0"'
write_program "$scratch/bin/python" <<<'case $* in *figures.py*) exec python3 "$@" ;; *find_spec*) echo pytest h5py ;; *) exit 3 ;; esac'
export PATH=$scratch/bin:$PATH TALLY_PYTHON=$scratch/bin/python
expect_exit 1 "$contact" --build "$scratch/build" --results "$scratch/results" machine correct rates
says '^environment +passed'
says '^ceilings +FAILED \(3\)'
says '^gpu_test +skipped: there is no'
says '^end to end +skipped: .* has no pytest h5py'
says '^rates +FAILED \(3\)'
expect_exit 0 python3 -c 'import json, sys; print(len([json.loads(line) for line in open(sys.argv[1])]))' \
  "$scratch/results/figures.jsonl"
says '^8$'

# A table for each kind of GPU, which a later one of the same kind replaces.
for line in 'first 1' 'second 2' 'first 3'; do
  read -r gpu value <<<"$line"
  printf '{"figure": "GPU", "value": "%s", "unit": ""}\n{"figure": "rate", "value": %d.0, "unit": "images/s"}\n' \
    "$gpu" "$value" >"$scratch/figures.jsonl"
  [[ -e $scratch/doc.md ]] || printf '# Figures\n<!-- the next kind of GPU -->\nend\n' >"$scratch/doc.md"
  python3 "$project/tests/gpu/figures.py" "$scratch/figures.jsonl" --document "$scratch/doc.md"
done
[[ $(grep -o '^| rate | [0-9]' "$scratch/doc.md" | tr -d '\n') == '| rate | 3| rate | 2' ]] ||
  fail "the tables are: $(<"$scratch/doc.md")"

# A step that does not end is ended.
source "$project/tests/gpu/contact_steps.sh"
export log=$scratch/log figures=$scratch/figures
failed=0
set +e
step endless 1 sleep 100 >"$scratch/out"
set -e
says '^endless +not over after 1 s'
((failed == 1)) || fail "a step that did not end counts as passed"
