#!/usr/bin/env bash
# What needs a GPU, in one call that is meant to take less than ten minutes.
#
# Usage: tests/gpu/run.sh [--build DIR] [--results DIR] [STEP…]
#
#   --build DIR     a build with tests and CUDA                     default: build
#   --results DIR   logs and figures                                default: gpu-results
#   STEP            kernels sanitizer end_to_end packages speed     default: all
#
# TALLY_PYTHON is a Python with torch and the packages of data_tools/requirements.txt; real data sets are
# found in TALLY_DATA_DIR. Every step runs, whatever became of those before; the last lines say how each
# ended. Exit codes: 0 all steps passed, 1 one did not, 5 there is no GPU.
set -uo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../../jobs/lib/common.sh"
cd "$tally_root" || exit

build=build results=gpu-results steps=()
while (($# > 0)); do
  case $1 in
    --build) build=${2:?--build needs a folder}; shift ;;
    --results) results=${2:?--results needs a folder}; shift ;;
    --help) show_help; exit 0 ;;
    kernels | sanitizer | end_to_end | packages | speed) steps+=("$1") ;;
    *) die 2 "unknown argument '$1'. See tests/gpu/run.sh --help." ;;
  esac
  shift
done
if ((${#steps[@]} == 0)); then steps=(kernels sanitizer end_to_end packages speed); fi
build=$(realpath "$build")
mkdir -p "$results"
results=$(realpath "$results")
python=${TALLY_PYTHON:-python3}
export TALLY_BIN=$build/tally TALLY_REQUIRE_GPU=1 PYTHONDONTWRITEBYTECODE=1
export TALLY_TEST_CACHE=${TALLY_TEST_CACHE:-$results/cache}
[[ -x $TALLY_BIN ]] || die 5 "there is no '$TALLY_BIN'. Build first: jobs/setup.sh --tests"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader ||
  die 5 "nvidia-smi finds no GPU."
"$TALLY_BIN" --version

run_pytest() { "$python" -m pytest -q -rs -p no:cacheprovider "$@"; }

# NCCL is looked for beside LibTorch, to which its test is not linked.
run_kernels() {
  local packages
  "$build/tests/gpu/gpu_test" --gtest_brief=1 || return
  "$build/tests/gpu/graph_gpu_test" --gtest_brief=1 || return
  packages=$("$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])') || return
  export LD_LIBRARY_PATH=$packages/nvidia/nccl/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  "$build/tests/comm/comm_nccl_gpu_test" --gtest_brief=1 || return
  # Two ranks, on one GPU if there is no other.
  TALLY_ALLOW_SHARED_GPU=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    mpirun --oversubscribe -n 2 "$build/tests/comm/comm_nccl_gpu_test" --gtest_brief=1
}

# Out of bounds, races, reads of what nobody wrote: each tool on the kernels' own tests.
run_sanitizer() {
  local tool
  command -v compute-sanitizer >/dev/null || { say "there is no compute-sanitizer in PATH"; return 1; }
  for tool in memcheck racecheck initcheck synccheck; do
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$build/tests/gpu/gpu_test" --gtest_brief=1 \
      --gtest_filter='*Bits*:*NamesTheFirstRow*' || return
  done
}

run_end_to_end() {
  TALLY_TEST_COUNT_WAITS=$build/tests/gpu/libcount_waits.so run_pytest tests/end_to_end/test_on_gpu.py \
    -k "not package" --junit-xml="$results/end_to_end.xml"
}

run_packages() { run_pytest tests/end_to_end/test_on_gpu.py -k package; }

run_speed() { "$python" tests/bench/gpu_speed.py --tally "$TALLY_BIN" --output "$results/speed.json"; }

failed=()
for step in "${steps[@]}"; do
  echo "== $step"
  started=$SECONDS
  if "run_$step" 2>&1 | tee "$results/$step.log"; then
    summary+=("$step: passed in $((SECONDS - started)) s")
  else
    summary+=("$step: FAILED after $((SECONDS - started)) s")
    failed+=("$step")
  fi
done
printf '%s\n' "== summary" "${summary[@]}"
((${#failed[@]} == 0))
