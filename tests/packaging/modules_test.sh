#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `module load tally` finds an installed program and that of an archive, with environment-modules and with
# Lmod, whichever is here; 77 (skipped) where there is neither.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
: "${TALLY_TEST_BUILD:?run this through ctest}" "${TALLY_TEST_LIBTORCH:?}"

first_of() {
  local file
  for file in "$@"; do
    if [[ -x $file || -r $file ]]; then
      echo "$file"
      return
    fi
  done
}
tcl=$(first_of "${MODULES_CMD:-}" /usr/lib/x86_64-linux-gnu/modulecmd.tcl /usr/libexec/modulecmd.tcl)
lmod=$(first_of "${LMOD_CMD:-}" /usr/share/lmod/lmod/libexec/lmod)
if [[ -z $tcl$lmod ]]; then
  echo "skipped: this needs environment-modules or Lmod"
  exit 77
fi

installed=$scratch/"my apps"/tally
cmake --install "$TALLY_TEST_BUILD" --prefix "$installed" >"$scratch/out" || fail "$(<"$scratch/out")"
cpack -G TGZ -B "$scratch/pack" --config "$TALLY_TEST_BUILD/CPackConfig.cmake" >"$scratch/out" || fail "$(<"$scratch/out")"
mkdir "$scratch/archive"
tar --extract --file "$scratch"/pack/tally-*.tar.gz --strip-components 1 --directory "$scratch/archive"
rm -rf "$scratch/pack"

# An installation's module files may be copied to where a site keeps such files.
site=$scratch/"site modules"
cp -r "$installed/share/tally/modulefiles" "$site"

# loads_tally COMMAND FOLDER PROGRAM: after module load, `tally` is that program and runs.
loads_tally() {
  local settings
  settings=$(env -u LOADEDMODULES -u _LMFILES_ -u __LMOD_REF_COUNT_MODULEPATH MODULEPATH="$2" "$1" bash load tally 2>&1)
  (
    eval "$settings" >/dev/null
    [[ $(command -v tally) == "$3" ]] || fail "$1 with $2 gives $(command -v tally || echo no program): $settings"
    LibTorch_ROOT=$TALLY_TEST_LIBTORCH tally --version >"$scratch/version"
  )
  expect_line "$scratch/version" "tally "
}

says_what_it_is() {
  MODULEPATH="$2" "$1" bash help tally >"$scratch/help" 2>&1
  expect_line "$scratch/help" "$3/share/tally/jobs"
}

for command in $tcl $lmod; do
  for folder in "$site" "$installed/share/tally/modulefiles"; do loads_tally "$command" "$folder" "$installed/bin/tally"; done
  loads_tally "$command" "$scratch/archive/share/tally/modulefiles" "$scratch/archive/bin/tally"
  says_what_it_is "$command" "$site" "$installed"
  echo "ok with $command"
done
