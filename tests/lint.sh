#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks style and common mistakes: clang-format, clang-tidy (in a built build/), shellcheck, codespell.
#
# Usage: tests/lint.sh [format|tidy|shell|spelling]…        default: all
#
# The linters come with jobs/setup.sh --with-lint. tests/lint.sh format says how to put a file right.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../jobs/lib/common.sh"
cd "$tally_root"

# Tracked files and new ones that git does not ignore, of the given patterns, NUL-separated.
project_files() {
  git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@" |
    while IFS= read -r -d '' file; do
      if [[ -f $file ]]; then printf '%s\0' "$file"; fi
    done
}

# Scripts and the files they source.
shell_scripts() {
  project_files | xargs -0 grep --files-with-matches --null --extended-regexp '^#!.*\b(ba)?sh$|^# shellcheck shell=bash'
}

check_format() {
  local wrong
  wrong=$(project_files '*.cpp' '*.hpp' '*.cu' | xargs -0 --no-run-if-empty clang-format-14 --dry-run -Werror 2>&1 |
    sed -n 's/:[0-9]*:[0-9]*: error: .*//p' | sort -u) || true
  [[ -n $wrong ]] || return 0
  printf 'clang-format-14 -i %s\n' "$(tr '\n' ' ' <<<"$wrong")"
  return 1
}

check_tidy() { python3 tests/tidy.py; }

check_shell() { shell_scripts | xargs -0 --no-run-if-empty shellcheck; }

check_spelling() { project_files ':!tests/fuzz/corpus' | xargs -0 --no-run-if-empty codespell; }

checks=("$@")
if ((${#checks[@]} == 0)); then checks=(format shell spelling tidy); fi
failed=''
for check in "${checks[@]}"; do
  case $check in
    format | tidy | shell | spelling)
      if "check_$check"; then say "$check: ok"; else failed+=" $check"; fi
      ;;
    --help)
      show_help
      exit 0
      ;;
    *) die 2 "unknown check '$check'. See tests/lint.sh --help." ;;
  esac
done
[[ -z $failed ]] || die 1 "failed:$failed"
