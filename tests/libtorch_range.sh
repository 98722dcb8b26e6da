#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Tally with versions of LibTorch, and runs the unit tests, the MPI tests and the known results with each.
#
# Usage: tests/libtorch_range.sh FOLDER VERSION[:TORCHVISION]…      e.g. 2.12.1:0.27.1 2.15.0
#
# FOLDER gets an environment for each (7 GB), which is deleted when its tests have passed, one build folder for all of them,
# as most files do not see LibTorch, and lines in FOLDER/results.txt. A version that stands there is not tried again, so that
# what was stopped goes on. Without TORCHVISION pip chooses one, or the newest is taken as it is where none is made for that
# torch.
# It builds for GPUs, too, where the wheel is of CUDA 13, or CUDACXX names a compiler.
# Exit codes: 0 all passed, 1 one failed, 2 wrong usage.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../jobs/lib/common.sh"
source "$tally_root/jobs/lib/python_env.sh"
source "$tally_root/jobs/lib/cuda.sh"

if [[ ${1:-} == --help || $# -lt 2 ]]; then
  show_help
  [[ ${1:-} == --help ]] && exit 0
  exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
results=$folder/results.txt
touch "$results"

# make_environment DIR TORCH TORCHVISION
make_environment() {
  [[ -e $1/whole ]] && return
  rm -rf "$1"
  python3 -m venv "$1"
  cat "$tally_root"/data_tools/requirements*.txt "$tally_root/tests/requirements.txt" | grep -vE '^torch(vision)?==' >"$1/others.txt"
  "$1/bin/python" -m pip install --quiet "torch==$2"
  "$1/bin/python" -m pip install --quiet "torch==$2" "torchvision${3:+==$3}" -r "$1/others.txt" || {
    grep -v '^timm==' "$1/others.txt" >"$1/without_timm.txt" # it asks for torchvision
    "$1/bin/python" -m pip install --quiet "torch==$2" -r "$1/without_timm.txt" huggingface_hub pyyaml
    "$1/bin/python" -m pip install --quiet --no-deps torchvision "$(grep '^timm==' "$1/others.txt")"
  }
  if [[ -d $(echo "$1"/lib/python3*/site-packages/nvidia/cu13) ]]; then
    add_cuda_compiler "$1/bin/python" "$(echo "$1"/lib/python3*/site-packages/nvidia/cu13)"
  fi
  touch "$1/whole"
}

# try TORCH TORCHVISION: in a shell of its own, which the first failure ends.
try() (
  set -e
  home=$folder/$1
  make_environment "$home/env" "$1" "$2"
  python=$home/env/bin/python
  # Models that the version before exported, and what CMake keeps of where it lay.
  rm -rf "$folder/build/test-cache" "$folder"/build/CMakeFiles/*/CMakeCUDACompiler.cmake
  cmake -G Ninja -U 'LibTorch_*' -U 'CMAKE_CUDA*' -U 'CUDAToolkit*' -U 'Nccl_*' -S "$tally_root" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release \
    -DTALLY_CUDA=AUTO "-DTALLY_PYTHON=$python" \
    "-DLibTorch_ROOT=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')"
  cmake --build "$folder/build"
  ctest --test-dir "$folder/build" --output-on-failure --parallel "$(nproc)" --no-tests=error --label-regex 'unit|mpi' --label-exclude heavy
  TALLY_REQUIRE_DATA=1 ctest --test-dir "$folder/build" --output-on-failure --no-tests=error --tests-regex 'known_results'
)

# tried LOG: what ctest said of each of its runs.
tried() { grep -E '% tests passed|% tests failed' "$1" | sed 's/ tests passed, /, /' | paste -sd ';'; }

failed=0
for choice in "$@"; do
  version=${choice%%:*} vision=''
  [[ $choice == *:* ]] && vision=${choice#*:}
  if grep -q "^$version " "$results"; then continue; fi
  mkdir -p "$folder/$version"
  log=$folder/$version/log.txt
  set +e
  try "$version" "$vision" >"$log" 2>&1
  code=$?
  set -e
  if ((code == 0)); then
    echo "$version passed, $(date +%F): $(tried "$log")" | tee -a "$results"
    rm -rf "${folder:?}/$version/env"
  else
    failed=1
    echo "$version failed: $(tried "$log"); see $log"
  fi
done
exit "$failed"
