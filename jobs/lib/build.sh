# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # common.sh sets tally_root
# Configures and builds one preset of CMakePresets.json. Sourced after common.sh.

early_build='' locked_build=''

# The presets' folders: release in build/, NAME in build-NAME/.
build_dir() {
  if [[ $1 == release ]]; then echo "$tally_root/build"; else echo "$tally_root/build-$1"; fi
}

# As many compilers as cores, but 2 GiB of free memory for each: LibTorch's headers are heavy.
build_jobs() {
  local cores free_kib jobs
  cores=$(nproc)
  free_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  jobs=$((free_kib / (2 * 1024 * 1024)))
  echo $((jobs < 1 ? 1 : jobs < cores ? jobs : cores))
}

cache_entry() { sed -n "s/^$2:[^=]*=//p" "$1/CMakeCache.txt" 2>/dev/null; }

# begin_early_build PRESET: compiles what neither LibTorch nor CUDA changes, in a new folder, until end_early_build. If it
# fails, build() meets the same failure and reports it.
begin_early_build() {
  local dir
  dir=$(build_dir "$1")
  if [[ -e $dir/CMakeCache.txt ]]; then return 0; fi
  lock_build "$dir"
  say "compiling what does not need LibTorch meanwhile"
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$tally_root}
  # A session of its own, so that it can be ended with its compilers.
  # shellcheck disable=SC2016 # the inner shell expands it
  setsid bash -c '
    cmake --preset "$1" -S "$2" -DTALLY_TORCH_LATER=ON -DTALLY_CUDA=OFF -DTALLY_UNITY=ON &&
      nice cmake --build "$3" --target tally_without_torch --parallel "$4"' \
    early_build "$1" "$tally_root" "$dir" "$(build_jobs)" >/dev/null 2>&1 </dev/null &
  early_build=$!
}

# end_early_build wait|stop
end_early_build() {
  [[ -n $early_build ]] || return 0
  if [[ $1 == stop ]]; then kill -- "-$early_build" 2>/dev/null || true; fi
  wait "$early_build" || true
  early_build=''
}

# Once, as a second lock of the same file would wait for the first.
lock_build() {
  if [[ $locked_build == "$1" ]]; then return 0; fi
  mkdir -p "$1" || die 5 "cannot write '$1'."
  lock "$1/.setup.lock"
  locked_build=$1
}

# openvino_beside TORCH: whether OpenVINO is in the environment, as TallyOpenvino.cmake records it.
openvino_beside() {
  if [[ -e $1/../openvino/cmake/OpenVINOConfig.cmake ]]; then echo there; else echo none; fi
}

# configure PRESET PYTHON CUDA: only where the folder is new or was configured for another place, environment or CUDA; a
# changed CMakeLists.txt is ninja's business. A new folder compiles several bodies at a time, which takes less time.
configure() {
  local dir torch gpu=ON cuda_before='' unity early openvino onnx
  local -a fresh=(--fresh)
  dir=$(build_dir "$1")
  unity=$(cache_entry "$dir" TALLY_UNITY) || true
  early=$(cache_entry "$dir" TALLY_TORCH_LATER) || true
  openvino=$(cache_entry "$dir" TALLY_OPENVINO_BESIDE) || true
  onnx=$(cache_entry "$dir" TALLY_OPENVINO) || true
  if [[ $early != ON ]]; then
    cuda_before=$(cache_entry "$dir" TALLY_CUDA) || true
  elif [[ $(cache_entry "$dir" CMAKE_HOME_DIRECTORY) == "$tally_root" ]]; then
    fresh=(-DTALLY_TORCH_LATER=OFF) # what was compiled before LibTorch was there is kept
  fi
  torch=$("$2" -I -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])') ||
    die 5 "'$2' has no torch. Remove its environment and run jobs/setup.sh again."
  case $3 in
    none) gpu=OFF ;;
    auto) gpu=${cuda_before:-AUTO} ;; # as the folder was configured before
  esac
  if [[ -e $dir/build.ninja && $cuda_before == "$gpu" && $(cache_entry "$dir" LibTorch_ROOT) == "$torch" &&
    $(cache_entry "$dir" TALLY_PYTHON) == "$2" && $(openvino_beside "$torch") == "${openvino:-none}" &&
    $(cache_entry "$dir" CMAKE_HOME_DIRECTORY) == "$tally_root" ]]; then
    return 0
  fi
  say "configuring $dir"
  quietly "cmake" cmake --preset "$1" "${fresh[@]}" -S "$tally_root" \
    "-DLibTorch_ROOT=$torch" "-DTALLY_PYTHON=$2" "-DTALLY_CUDA=$gpu" "-DTALLY_UNITY=${unity:-ON}" "-DTALLY_OPENVINO=${onnx:-AUTO}"
}

# build PRESET TARGET PYTHON CUDA; with $print it says nothing but that it takes long, and why it failed.
build() {
  local dir how
  dir=$(build_dir "$1")
  lock_build "$dir"
  configure "$1" "$3" "$4"
  # Same objects for every clone of the project, wherever it lies.
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$tally_root}
  how=(cmake --build "$dir" --target "$2" --parallel "$(build_jobs)")
  if [[ -n $print ]]; then
    [[ -e $dir/tally ]] || say "building $dir, which takes minutes the first time"
    quietly "the build" "${how[@]}"
    return
  fi
  "${how[@]}" </dev/null ||
    die 5 "the build in '$dir' failed; the compiler's first message above says where."
}
