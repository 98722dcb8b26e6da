#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs what README.md and docs/guide.md tell users to run. A ```sh block after a line '<!-- tested -->' is a tested
# block; all of them run in order in one bash, which stops at the first command that fails.
#
# They run in a scratch folder whose entries are links to the project's, as if it were a clone that has
# been built: what the commands write goes to the scratch folder, and set-up finds nothing to do.
#
# Usage: readme_test.sh [PAGE.md…]
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$project/jobs/lib/common.sh"
source "$project/jobs/lib/mpi.sh"

tested_blocks() {
  awk '/^<!-- tested -->[ \t]*$/ { marked = 1; next }
       /^```/ && inside          { inside = 0; next }
       /^```(sh|bash)[ \t]*$/ && marked { inside = 1; marked = 0; next }
       marked && NF              { print "line " FNR ": no ```sh block follows <!-- tested -->" >"/dev/stderr"; exit 1 }
       inside                    { print }' "$1"
}

clone=$scratch/clone
mkdir "$clone"
ln -s "$project"/* "$clone"
rm -rf "${clone:?}/quickstart-run" # a link to what a developer left there, or nothing

pages=("$@")
if ((${#pages[@]} == 0)); then pages=("$project/README.md" "$project/docs/guide.md"); fi
for page in "${pages[@]}"; do
  tested_blocks "$page" >"$scratch/blocks.sh" || fail "$page is not as this test expects"
  [[ -s $scratch/blocks.sh ]] || fail "$page has no tested block"
  cat "$scratch/blocks.sh" >>"$scratch/commands.sh"
done
settle_mpi "$(($(nproc) + 1))" # tests may share the cores
cd "$clone"
set +e
bash -eu -o pipefail -x "$scratch/commands.sh"
code=$?
set -e
((code == 0)) || fail "a command of ${pages[*]} ended with $code (the last one shown above)"
