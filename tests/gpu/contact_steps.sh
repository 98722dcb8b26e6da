# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC2034,SC2016 # sourced by contact.sh, which sets and reads the rest
# The parts of contact.sh.

prepare_environment() {
  local tool
  export TALLY_BIN=$build/tally
  if [[ ! -x $TALLY_BIN && -x $build/bin/tally ]]; then TALLY_BIN=$build/bin/tally; fi # an archive
  [[ -x $TALLY_BIN ]] || die 5 "there is no '$build/tally'. Build first: jobs/setup.sh --tests"
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader ||
    die 5 "nvidia-smi finds no GPU."
  export TALLY_REQUIRE_GPU=1 TALLY_REQUIRE_DATA=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
  export TALLY_TEST_CACHE=${TALLY_TEST_CACHE:-$build/test-cache}
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  mkdir -p "$TALLY_TEST_CACHE"
  tool=$(command -v nvcc) && export CUDA_HOME=${CUDA_HOME:-$(dirname "$(dirname "$(realpath "$tool")")")}
}

# note STEP STATE SECONDS: one line of the figures, and one for who waits.
note() {
  printf '{"step": "%s", "state": "%s", "seconds": %d}\n' "${1//[\"\\]/_}" "${2//[\"\\]/_}" "$3" >>"$figures"
  printf '%-44s %s in %d s\n' "$1" "$2" "$3"
}

# step NAME LIMIT_S COMMAND…: its output goes to the part's log, and the end of it here if it fails.
step() {
  local name=$1 limit=$2 began=$SECONDS code output state=passed
  shift 2
  output=$(mktemp)
  printf '== %s: %s\n' "$name" "$*" >>"$log"
  timeout --kill-after=10 "$limit" "$@" >"$output" 2>&1 </dev/null
  code=$?
  cat "$output" >>"$log"
  case $code in
    0) ;;
    124 | 137) state="not over after $limit s" ;;
    *) state="FAILED ($code)" ;;
  esac
  note "$name" "$state" $((SECONDS - began))
  if ((code != 0)); then
    failed=1
    tail -n 15 "$output"
    { dmesg | grep -E 'Xid|NVRM' | tail -n 5; } 2>/dev/null | tee -a "$log" # what the driver says of it
  fi
  rm -f "$output"
}

# has NAME PATH: whether a step can run at all.
has() {
  [[ -e $2 ]] && return
  note "$1" "skipped: there is no $2" 0
  return 1
}

has_program() {
  command -v "$2" >/dev/null && return
  note "$1" "skipped: there is no $2 in PATH" 0
  return 1
}

run_machine() {
  step environment 60 bash -c 'uname -srm; ldd --version | head -n 1; nvidia-smi; df -h /dev/shm; echo "CXX=${CXX-}"
    for tool in nvcc g++ ld objcopy compute-sanitizer ncu mpirun; do command -v $tool || echo "no $tool"; done
    "$0" --version; ldd "$(realpath "$0")" "$(dirname "$(realpath "$0")")/libtally_torch.so" | grep "not found"; true' "$TALLY_BIN"
  step ceilings 90 "$python" tests/gpu/ceilings.py "$figures"
}

# A suite is a process of its own: an error of CUDA stays with the process that it met.
run_suites() {
  local test=$build/tests/$1 limit=$2 suite suites
  has "$(basename "$test")" "$test" || return
  suites=$("$test" --gtest_list_tests 2>&1 | grep -E '^[A-Za-z]+\.$' | tr -d '.')
  for suite in ${suites:-all}; do
    step "$(basename "$test") $suite" "$limit" "$test" --gtest_filter="${suite/all/*}.*"
  done
}

run_nccl() {
  local test=$build/tests/comm/comm_nccl_gpu_test packages
  has comm_nccl_gpu_test "$test" || return
  packages=$("$python" -c 'import importlib.util as u, pathlib; print(pathlib.Path(u.find_spec("torch").origin).parents[1])')
  local libraries=$packages/nvidia/nccl/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  step "NCCL, 1 rank" 60 env LD_LIBRARY_PATH="$libraries" "$test" --gtest_brief=1
  # On one GPU if there is no other.
  step "NCCL, 2 ranks" 60 env LD_LIBRARY_PATH="$libraries" TALLY_ALLOW_SHARED_GPU=1 \
    mpirun --oversubscribe -n 2 "$test" --gtest_brief=1
}

# pytest NAME LIMIT_S ARGUMENTS…: by several processes where pytest can.
run_pytest() {
  local name=$1 limit=$2 options=() missing
  shift 2
  missing=$("$python" -c 'import importlib.util as u, sys; print(*(m for m in sys.argv[1:] if not u.find_spec(m)))' \
    pytest h5py google_crc32c pycocotools sklearn torchmetrics transformers)
  if [[ -n $missing ]]; then
    note "$name" "skipped: $python has no $missing" 0
    return
  fi
  "$python" -c 'import xdist' 2>/dev/null && options+=(-n 4)
  "$python" -c 'import pytest_timeout' 2>/dev/null && options+=(--timeout 120)
  step "$name" "$limit" "$python" -m pytest -q -rs -p no:cacheprovider "${options[@]}" \
    --junit-xml="$results/${name// /_}.xml" "$@"
}

run_correct() {
  run_suites gpu/gpu_test 60
  run_suites gpu/graph_gpu_test 60
  run_nccl
  if [[ -e $build/tests/gpu/libcount_waits.so ]]; then
    export TALLY_TEST_COUNT_WAITS=$build/tests/gpu/libcount_waits.so
  fi
  run_pytest "first evaluation" 60 tests/end_to_end/test_on_gpu.py -k "saved_columns and none"
  run_pytest "end to end" 240 tests/end_to_end/test_on_gpu.py -k "not package"
}

# measure NAME LIMIT_S [ARGUMENT…]
measure() {
  step "$1" "$2" "$python" tests/gpu/rates.py --tally "$TALLY_BIN" --figures "$figures" --only "$only" \
    --images "$images" "${@:3}"
}

run_rates() { measure rates 520; }

run_families() { measure "rates of families" 520 --what families; }

run_packages() {
  measure "rates of packages" 420 --what packages
  run_pytest "end to end, packages" 240 tests/end_to_end/test_on_gpu.py -k package
}

# Out of bounds, races, reads of what nobody wrote: each tool on the kernels' own tests.
run_inspect() {
  local test=$build/tests/gpu/gpu_test tool
  has inspect "$test" || return
  for tool in memcheck racecheck initcheck synccheck; do
    has_program "compute-sanitizer $tool" compute-sanitizer || continue
    step "compute-sanitizer $tool" 90 compute-sanitizer --tool "$tool" --error-exitcode 1 "$test" \
      --gtest_brief=1 --gtest_filter='*AtEdges:*NamesTheFirstRow*'
  done
  has_program ncu ncu || return
  step ncu 120 ncu --clock-control none --launch-count 20 --csv --log-file "$results/ncu.csv" "$test" \
    --gtest_brief=1 --gtest_filter='*OnGpu.Gives*:*OnGpu.Hold*'
}
