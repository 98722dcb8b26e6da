# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # common.sh sets tally_root
# The Python environment with torch, whose wheel is also the LibTorch that we link to. Sourced after common.sh.
#
# Packages come in sets. Beside the requirements of each lies a lock file (jobs/lock-requirements.sh writes it), by whose
# hashes pip checks what it downloads. In the environment's folder tally-<set>.sha256 says which requirements of a set are
# installed and is written last; tally-made says that set-up made the folder. tally-requirements.sha256 and tally-made
# lacking: somebody else's environment, which is completed with pip but never deleted. The first lacking alone: an
# interrupted set-up, done afresh.
# tally-without-gpu: packages that nothing loads where there is no GPU were removed after the installation. Only --cuda 13
# brings them back: a job that runs on a node with GPUs may have no network.

declare -A requirements=(
  [requirements]=$tally_root/data_tools/requirements.txt
  [dashboards]=$tally_root/data_tools/requirements-dashboards.txt
  [onnx]=$tally_root/data_tools/requirements-onnx.txt
  [tests]=$tally_root/tests/requirements.txt
)
wanted_packages=(requirements)
any_wheels='' # --any-wheels: take the pinned versions without comparing hashes

# What comes with PyTorch's wheel and no library that it loads on a CPU is linked with: Triton, and libraries that PyTorch
# opens on first use on a GPU.
gpu_packages=(triton nvidia-cuda-nvrtc nvidia-cusolver nvidia-nvtx cuda-bindings cuda-pathfinder)

# A Python that can make virtual environments.
base_python() {
  local candidate
  for candidate in python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' \
      2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

requirements_hash() { cat "${requirements[$1]}" "${requirements[$1]/%.txt/.lock}" | sha256sum | cut -d' ' -f1; }

# pip_options FILE.txt…: pip's options for what these files ask for, one in a line.
pip_options() {
  if [[ -n $any_wheels ]]; then
    printf -- '--requirement\n%s\n' "$@"
  else
    echo --require-hashes
    printf -- '--requirement\n%s\n' "${@/%.txt/.lock}"
  fi
}

# missing_sets DIR: the sets that are wanted, and not there as their files say now.
missing_sets() {
  local set
  for set in $(printf '%s\n' "${wanted_packages[@]}" | sort -u); do
    [[ -r $1/tally-$set.sha256 && $(<"$1/tally-$set.sha256") == "$(requirements_hash "$set")" ]] || echo "$set"
  done
}

environment_runs() { "$1/bin/python" -I -c '' 2>/dev/null; }

# environment_is_ready [CUDA]
environment_is_ready() {
  local dir
  dir=$(environment_dir)
  if [[ ${1:-auto} == 1[23] && -e $dir/tally-without-gpu ]]; then return 1; fi
  [[ -z $(missing_sets "$dir") ]] && environment_runs "$dir"
}

# ensure_environment POLICY CUDA: makes or completes the environment. POLICY: install or check; CUDA: as --cuda.
ensure_environment() {
  local dir lacks
  dir=$(environment_dir)
  if environment_is_ready "$2"; then return 0; fi
  lacks=$(missing_sets "$dir" | paste -sd ' ')
  if [[ -z $lacks && $1 != install ]]; then
    die 5 "the Python environment '$dir' was made for CPUs, and --no-install was given."
  fi
  [[ $1 == install ]] ||
    die 5 "the Python environment '$dir' lacks packages of: $lacks (data_tools/requirements*.txt, tests/requirements.txt), and --no-install was given."
  mkdir -p "$(dirname "$dir")" || die 5 "cannot make '$dir'. Set TALLY_ENV to a folder you may write."
  lock "$dir.lock"
  if environment_is_ready "$2"; then return 0; fi # another set-up made it while we waited
  clear_broken_environment "$dir"
  if [[ ! -x $dir/bin/python ]]; then
    make_environment "$dir"
    if ! is_for_gpus "$2"; then touch "$dir/tally-without-gpu"; fi
  fi
  fill_environment "$dir"
  if [[ $2 == 1[23] ]]; then rm -f "$dir/tally-without-gpu"; fi # pip has installed them again
  if [[ -e $dir/tally-without-gpu ]]; then
    quietly "pip uninstall" "$dir/bin/python" -I -m pip uninstall --yes --disable-pip-version-check "${gpu_packages[@]}"
  fi
}

clear_broken_environment() {
  local dir=$1
  if [[ -e $dir/tally-made ]]; then
    if [[ ! -e $dir/tally-requirements.sha256 ]] || ! environment_runs "$dir"; then rm -rf "$dir"; fi
  elif [[ -n $(ls -A "$dir" 2>/dev/null) ]] && ! environment_runs "$dir"; then
    die 5 "'$dir' is not empty and is no Python environment (no bin/python that runs). Set TALLY_ENV to an absent or empty folder."
  fi
}

make_environment() {
  local dir=$1
  say "making the Python environment '$dir' (4 to 5 GB)"
  mkdir -p "$dir"
  touch "$dir/tally-made"
  quietly "python3 -m venv" "$(base_python)" -m venv "$dir"
}

fill_environment() {
  local dir=$1 set
  local -a sets=() files=() options pip
  # All sets that are wanted or there already, so that none breaks another.
  for set in "${!requirements[@]}"; do
    if [[ -e $dir/tally-$set.sha256 || " ${wanted_packages[*]} " == *" $set "* ]]; then sets+=("$set"); fi
  done
  for set in "${sets[@]}"; do files+=("${requirements[$set]}"); done
  mapfile -t options < <(pip_options "${files[@]}")
  pip=("$dir/bin/python" -I -m pip install --no-input --disable-pip-version-check "${options[@]}")
  say "installing the Python packages of $(printf '%s\n' "${sets[@]}" | sort | paste -sd ' ') into '$dir'"
  for set in "${sets[@]}"; do rm -f "$dir/tally-$set.sha256"; done
  if [[ -t 2 ]]; then # somebody watches: show pip's progress bars
    "${pip[@]}" >&2 || die 5 "pip install failed; its message stands above."
  else
    quietly "pip install" "${pip[@]}" --progress-bar off
  fi
  for set in "${sets[@]}"; do
    requirements_hash "$set" >"$dir/tally-$set.sha256" ||
      say "'$dir' cannot be written, so its packages are looked through again next time"
  done
}
