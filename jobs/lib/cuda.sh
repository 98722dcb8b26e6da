# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # python_env.sh has any_wheels, common.sh tally_root
# Which CUDA a build is for, its compiler, and whether this machine's driver can run it. Sourced after
# python_env.sh.

# choose_cuda WHICH: for CUDA 12 PyTorch's wheels are others, which no lock file has, and go to an environment of their own.
choose_cuda() {
  [[ $1 == 12 ]] || return 0
  local nvcc=${CUDACXX:-nvcc} version
  version=$("$nvcc" --version 2>/dev/null) || version=''
  [[ $version =~ release\ 12\.[0-6], ]] ||
    die 5 "--cuda 12 needs a site's nvcc of CUDA 12.0 to 12.6, as PyTorch's wheels are of 12.6, and '$nvcc' is none. Load its module, or set CUDACXX."
  any_wheels=yes
  export TALLY_ENV=${TALLY_ENV:-$HOME/.cache/tally/env-cuda12}
  export PIP_EXTRA_INDEX_URL="${PIP_EXTRA_INDEX_URL:+$PIP_EXTRA_INDEX_URL }https://download.pytorch.org/whl/cu126"
}

# is_for_gpus WHICH: whether what is set up is meant for GPUs: by --cuda, and for auto where there is a compiler or a GPU.
is_for_gpus() {
  case $1 in
    none) return 1 ;;
    auto) [[ -n ${CUDACXX:-} ]] || command -v nvcc >/dev/null || nvidia-smi >/dev/null 2>&1 ;;
  esac
}

# The version of CUDA that the driver comes with: 13.0. Empty without a driver.
driver_cuda() { { nvidia-smi 2>/dev/null || true; } | sed -n 's/.*CUDA Version: \([0-9.]*\).*/\1/p'; }

# say_gpu PRESET: whether that build computes on GPUs, and on those of this machine. A driver runs
# programs of its generation of CUDA, newer ones of that too, and of older generations.
say_gpu() {
  local text built driver
  [[ -r $(build_dir "$1")/gpu.txt ]] || return 0
  read -r text <"$(build_dir "$1")/gpu.txt"
  built=$(sed -n 's/^yes (CUDA \([0-9.]*\).*/\1/p' <<<"$text")
  driver=$(driver_cuda)
  if [[ -n $built && -n $driver ]] && ((${driver%%.*} < ${built%%.*})); then
    text="no, because the driver is for CUDA $driver and this build for $built: update it"
    if ((${driver%%.*} == 12)); then text+=", or jobs/setup.sh --cuda 12"; fi
  elif [[ -z $built && ${driver%%.*} =~ ^1[23]$ ]]; then
    text+="; jobs/setup.sh --cuda ${driver%%.*} builds for the GPUs here"
  fi
  say "GPU: $text"
}

# add_cuda_compiler PYTHON TOOLKIT: to a wheel of CUDA 13, whose folder nvidia/cu13 is TOOLKIT.
add_cuda_compiler() {
  local -a options
  mapfile -t options < <(pip_options "$tally_root/jobs/requirements-cuda.txt")
  quietly "pip install" "$1" -I -m pip install --no-input --disable-pip-version-check --no-deps "${options[@]}"
  # What CMake looks for in a toolkit.
  ln -sfn lib "$2/lib64"
  ln -sfn libcudart.so.13 "$2/lib/libcudart.so"
}

# ensure_cuda_compiler POLICY PRESET: POLICY is install or check; that preset is then configured anew.
ensure_cuda_compiler() {
  local dir toolkit
  if command -v nvcc >/dev/null || [[ -n ${CUDACXX:-} ]]; then return 0; fi
  dir=$(environment_dir)
  toolkit=$("$dir/bin/python" -I -c \
    'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')/../nvidia/cu13
  if [[ -x $toolkit/bin/nvcc ]]; then return 0; fi
  [[ $1 == install ]] || die 5 "there is no nvcc, and --no-install was given."
  say "installing the CUDA compiler into '$dir'"
  add_cuda_compiler "$dir/bin/python" "$toolkit"
  rm -f "$(build_dir "$2")/build.ninja"
}
