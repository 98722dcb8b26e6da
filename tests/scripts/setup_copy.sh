# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # lib.sh sets project and scratch
# For the tests of jobs/setup.sh. Sourced after lib.sh.

# A project of its own, so that no test touches the real build; its only requirement is always met.
copy=$scratch/"a project"
mkdir -p "$copy/data_tools" "$copy/tests"
cp -r "$project/jobs" "$copy"
for file in data_tools/requirements.txt data_tools/requirements-dashboards.txt tests/requirements.txt; do
  echo 'pip' >"$copy/$file"
done
export TALLY_ENV=$scratch/"my env" TMPDIR=$scratch
unset CONDA_PREFIX CMAKE_PREFIX_PATH HDF5_ROOT HDF5_DIR

setup() { "$copy/jobs/setup.sh" "$@"; }
