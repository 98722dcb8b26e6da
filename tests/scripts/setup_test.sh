#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# jobs/setup.sh on machines that lack things, played with a PATH of chosen programs. Installs nothing.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$project/tests/scripts/setup_copy.sh"

# As if a former set-up had filled the environment.
make_ready_environment() {
  mkdir -p "$TALLY_ENV/bin"
  ln -sf "$(command -v python3)" "$TALLY_ENV/bin/python"
  cat "$copy"/data_tools/requirements.{txt,lock} | sha256sum | cut -d' ' -f1 >"$TALLY_ENV/tally-requirements.sha256"
}

says_what_is_missing_without_apt() {
  PATH=$(fake_bin ninja mpicxx apt-get) expect_exit 5 setup --no-build
  expect_line "$scratch/err" "apt-get install --no-install-recommends ninja-build libopenmpi-dev"
  expect_line "$scratch/err" "module load ninja openmpi"
  expect_line "$scratch/err" "conda create --name tally --channel conda-forge ninja openmpi;"
  expect_line "$scratch/err" "setup: error[5] 2 thing(s) that Tally needs are missing"
  expect_line "$scratch/err" "there is no apt-get here"
  [[ ! -e $TALLY_ENV ]] || fail "an environment was made although packages are missing"
}

looks_for_a_cluster_only_when_asked() {
  local bin
  bin=$(fake_bin sbatch apt-get)
  PATH=$bin expect_exit 0 setup --no-build
  PATH=$bin expect_exit 5 setup --no-build --with-slurm
  expect_line "$scratch/err" "Debian package slurm-wlm"
}

tells_eval_of_wrong_usage() {
  expect_exit 2 setup --print --no-such-option
  expect_line "$scratch/out" "false"
}

says_so_without_root() {
  local bin
  bin=$(fake_bin ninja sudo)
  write_program "$bin/apt-get" <<<'exit 99'
  [[ ! -L $bin/apt-get ]] || fail "the machine's own apt-get was written to"
  write_program "$bin/id" <<<'echo 1000'
  PATH=$bin expect_exit 5 setup --no-build
  expect_line "$scratch/err" "we are neither root nor allowed to use sudo"
}

installs_only_what_is_missing() {
  local bin calls=$scratch/calls
  bin=$(fake_bin ninja apt-get id)
  write_program "$bin/id" <<<'echo 0'
  # Installing brings the program, as the real one does.
  write_program "$bin/apt-get" <<<"echo \"\$DEBIAN_FRONTEND: \$*\" >>'$calls'
    [[ \$* != *' install '* ]] || ln -sf '$(command -v ninja)' '$bin/ninja'"
  PATH=$bin expect_exit 0 setup --no-build
  expect_line "$calls" "noninteractive: -y"
  expect_line "$calls" " update"
  expect_line "$calls" "install --no-install-recommends ninja-build"
  expect_no_line "$calls" "cmake"
  : >"$calls"
  PATH=$bin expect_exit 0 setup --no-build
  [[ ! -s $calls ]] || fail "apt-get was called though nothing is missing: $(<"$calls")"
}

says_why_an_installation_failed() {
  local bin
  bin=$(fake_bin ninja apt-get id)
  write_program "$bin/id" <<<'echo 0'
  write_program "$bin/apt-get" <<<'echo Temporary failure resolving; exit 100'
  PATH=$bin expect_exit 5 setup --no-build
  expect_line "$scratch/err" "Temporary failure resolving"
  expect_line "$scratch/err" "setup: error[5] apt-get update failed"
}

reports_a_distribution_that_is_too_old() {
  local bin
  bin=$(fake_bin cmake apt-get id)
  write_program "$bin/id" <<<'echo 0'
  write_program "$bin/apt-get" <<<'true'
  write_program "$bin/cmake" <<<'echo cmake version 3.18.4'
  PATH=$bin expect_exit 5 setup --no-build
  expect_line "$scratch/err" "this distribution's packages do not provide them"
  expect_line "$scratch/err" "'cmake>=3.25'"
}

keeps_going_without_compiler_cache() {
  PATH=$(fake_bin ccache apt-get) expect_exit 0 setup --no-build
  expect_line "$scratch/out" "without ccache builds or networks take longer"
  local bin
  bin=$(fake_bin ccache apt-get id)
  write_program "$bin/id" <<<'echo 0'
  write_program "$bin/apt-get" <<<'exit 100'
  PATH=$bin expect_exit 0 setup --no-build
  expect_line "$scratch/out" "going on without it"
}

prints_quoted_settings_only() {
  expect_exit 0 setup --no-build --print
  [[ $(wc -l <"$scratch/out") == 1 ]] || fail "--print wrote more than its settings: $(<"$scratch/out")"
  (
    unset TALLY_BIN TALLY_PYTHON
    eval "$(<"$scratch/out")"
    [[ $TALLY_BIN == "$(cd -P "$copy" && pwd)/build/tally" ]] || fail "TALLY_BIN is '$TALLY_BIN'"
    [[ $TALLY_PYTHON == "$TALLY_ENV/bin/python" ]] || fail "TALLY_PYTHON is '$TALLY_PYTHON'"
  )
}

is_silent_while_it_builds_for_eval() {
  local bin cmake
  cmake=$(command -v cmake)
  bin=$(fake_bin apt-get)
  write_program "$bin/cmake" <<END
case \$1 in
  --build) echo "[1/2] Building" && exit "\$BUILD_EXIT" ;;
  --preset) ;;
  *) exec "$cmake" "\$@" ;;
esac
END
  write_program "$TALLY_ENV/bin/python" <<<'[[ $* != *torch* ]] || echo /a/torch'
  mkdir -p "$copy/build"
  touch "$copy/build/tally"
  BUILD_EXIT=0 PATH=$bin expect_exit 0 setup --print
  expect_no_line "$scratch/err" "Building"
  BUILD_EXIT=1 PATH=$bin expect_exit 5 setup --print
  expect_line "$scratch/err" "[1/2] Building"
  expect_line "$scratch/err" "setup: error[5] the build failed"
  make_ready_environment
}

makes_eval_fail_when_it_fails() {
  PATH=$(fake_bin ninja apt-get) expect_exit 5 setup --print
  if eval "$(<"$scratch/out")"; then fail "eval of a failed set-up's output succeeds"; fi
}

# Two at once, as from two terminals: one makes the environment, the other waits for it.
makes_one_environment_for_two() {
  local second code=0
  rm -rf "$TALLY_ENV"
  setup --no-build >"$scratch/first" 2>&1 &
  second=$!
  expect_exit 0 setup --no-build
  wait "$second" || code=$?
  ((code == 0)) || fail "the set-up beside it ended with $code: $(<"$scratch/first")"
  [[ $(cat "$scratch/out" "$scratch/first" | grep -c 'making the Python environment') == 1 ]] ||
    fail "the environment was not made exactly once"
  "$TALLY_ENV/bin/python" -c 'import pip'
}

starts_an_interrupted_environment_afresh() {
  rm "$TALLY_ENV/tally-requirements.sha256"
  touch "$TALLY_ENV/half-written"
  expect_exit 0 setup --no-build
  [[ ! -e $TALLY_ENV/half-written ]] || fail "an unfinished environment was kept"
  expect_exit 0 setup --no-build
  [[ ! -s $scratch/out ]] || fail "a finished environment was not left alone: $(<"$scratch/out")"
}

# What only GPUs need is not in an environment that was made for CPUs, until it is asked for.
leaves_out_what_only_gpus_need() {
  local python=$TALLY_ENV/bin/python
  rm -rf "$TALLY_ENV"
  write_wheel triton
  require triton
  expect_exit 0 setup --no-build --cuda none
  if "$python" -c 'import triton' 2>/dev/null; then fail "Triton is there without GPUs"; fi
  expect_exit 0 setup --no-build --with-dashboards
  if "$python" -c 'import triton' 2>/dev/null; then fail "Triton came with other packages"; fi
  expect_exit 5 setup --no-build --cuda 13 --no-install
  expect_line "$scratch/err" "was made for CPUs, and --no-install was given"
  CUDACXX=nvcc expect_exit 0 setup --no-build --cuda 13
  "$python" -c 'import triton' || fail "Triton is not there for GPUs"
  expect_exit 0 setup --no-build --cuda none
  "$python" -c 'import triton' || fail "an environment for GPUs lost Triton"
  sed -i '$d' "$copy"/data_tools/requirements.{txt,lock}
  rm -rf "$TALLY_ENV"
}

says_that_it_still_runs() {
  touch "$scratch/progress"
  (
    source "$project/jobs/lib/common.sh"
    progress_every=0.1
    quietly "the installation" bash -c "echo '[1/2] half'; while [[ ! -e '$scratch/go on' ]]; do :; done"
  ) >"$scratch/progress" &
  until grep -q 'the installation: .* s; \[1/2\] half' "$scratch/progress"; do :; done # by CTest's limit a failure
  touch "$scratch/go on"
  wait $!
}

# What the tests need comes with --tests, and stays.
installs_more_packages_when_asked() {
  expect_exit 0 setup --no-build --with-dashboards
  expect_line "$scratch/out" "installing the Python packages of dashboards requirements into"
  expect_exit 0 setup --no-build --tests
  expect_line "$scratch/out" "installing the Python packages of dashboards onnx requirements tests into"
  expect_exit 0 setup --no-build --tests
  [[ ! -s $scratch/out ]] || fail "packages that are there were installed again: $(<"$scratch/out")"
  echo '# changed' >>"$copy/tests/requirements.lock"
  expect_exit 0 setup --no-build
  [[ ! -s $scratch/out ]] || fail "what nobody asked for was installed: $(<"$scratch/out")"
  expect_exit 5 setup --no-build --tests --no-install
  expect_line "$scratch/err" "lacks packages of: tests (data_tools/"
  expect_exit 0 setup --no-build --tests
  expect_line "$scratch/out" "installing the Python packages of dashboards onnx requirements tests into"
}

never_deletes_a_stranger_folder() {
  local stranger=$scratch/stranger
  mkdir "$stranger"
  echo precious >"$stranger/thesis.txt"
  TALLY_ENV=$stranger expect_exit 5 setup --no-build
  expect_line "$scratch/err" "is not empty and is no Python environment"
  [[ $(<"$stranger/thesis.txt") == precious ]] || fail "the folder was changed"
}

installs_nothing_when_told_so() {
  TALLY_ENV=$scratch/absent expect_exit 5 setup --no-build --no-install
  expect_line "$scratch/err" "--no-install was given"
  [[ ! -e $scratch/absent ]] || fail "--no-install made an environment"
}

refuses_unknown_words() {
  expect_exit 2 setup --frobnicate
  expect_line "$scratch/err" "setup: error[2] unknown option '--frobnicate'"
  expect_exit 2 setup --preset fast
  expect_exit 0 setup --help
  expect_line "$scratch/out" "--no-install"
}

# last_line BUILT DRIVER: of a set-up whose build is as BUILT says, on a machine with that driver.
# shellcheck disable=SC2016 # the programs expand it
last_line() {
  local bin
  bin=$(fake_bin apt-get nvidia-smi)
  write_program "$bin/cmake" <<<'[[ $1 != --version ]] || echo cmake version 3.25.1'
  [[ -z $2 ]] || write_program "$bin/nvidia-smi" <<<"echo '| Driver Version: 5   CUDA Version: $2     |'"
  mkdir -p "$copy/build"
  echo "$1" >"$copy/build/gpu.txt"
  write_program "$TALLY_ENV/bin/python" <<<'[[ $* != *torch* ]] || echo /a/torch'
  PATH=$bin expect_exit 0 setup
  make_ready_environment
  tail -n 1 "$scratch/out"
}

says_whether_the_build_has_gpus() {
  local built='yes (CUDA 13.0, sm_80 sm_90)'
  [[ $(last_line "$built" '') == "setup: GPU: $built" ]] || fail "no driver: $(last_line "$built" '')"
  [[ $(last_line "$built" 13.0) == "setup: GPU: $built" ]] || fail "the same: $(last_line "$built" 13.0)"
  [[ $(last_line "$built" 13.10) == "setup: GPU: $built" ]] || fail "newer: $(last_line "$built" 13.10)"
  [[ $(last_line "$built" 12.2) == *'no, because the driver is for CUDA 12.2'*'--cuda 12' ]] ||
    fail "older: $(last_line "$built" 12.2)"
  [[ $(last_line 'yes (CUDA 12.6, sm_80)' 12.2) == 'setup: GPU: yes (CUDA 12.6, sm_80)' ]] ||
    fail "the same generation: $(last_line 'yes (CUDA 12.6, sm_80)' 12.2)"
  [[ $(last_line 'no, because of this' 13.0) == *'no, because of this; jobs/setup.sh --cuda 13 builds'* ]] ||
    fail "a GPU without a build for it: $(last_line 'no, because of this' 13.0)"
  [[ $(last_line 'no, because of this' '') == 'setup: GPU: no, because of this' ]] || fail "neither"
}

knows_which_cuda_is_meant() {
  local bin
  expect_exit 2 setup --no-build --cuda 11
  expect_line "$scratch/err" "--cuda is '11', expected auto, 12, 13 or none"
  bin=$(fake_bin apt-get nvcc)
  CUDACXX='' PATH=$bin expect_exit 5 setup --no-build --cuda 12
  expect_line "$scratch/err" "--cuda 12 needs a site's nvcc of CUDA 12"
  write_program "$bin/nvcc" <<<'echo "Cuda compilation tools, release 12.6, V12.6.85"'
  CUDACXX='' PATH=$bin expect_exit 0 setup --no-build --cuda 12
  write_program "$bin/nvcc" <<<'echo "Cuda compilation tools, release 12.9, V12.9.86"'
  CUDACXX='' PATH=$bin expect_exit 5 setup --no-build --cuda 12
}

says_what_is_missing_without_apt
make_ready_environment
says_so_without_root
installs_only_what_is_missing
says_why_an_installation_failed
reports_a_distribution_that_is_too_old
keeps_going_without_compiler_cache
prints_quoted_settings_only
is_silent_while_it_builds_for_eval
makes_eval_fail_when_it_fails
looks_for_a_cluster_only_when_asked
says_whether_the_build_has_gpus
knows_which_cuda_is_meant
tells_eval_of_wrong_usage
makes_one_environment_for_two
starts_an_interrupted_environment_afresh
installs_more_packages_when_asked
never_deletes_a_stranger_folder
installs_nothing_when_told_so
leaves_out_what_only_gpus_need
says_that_it_still_runs
refuses_unknown_words
