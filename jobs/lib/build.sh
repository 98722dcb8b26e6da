# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # common.sh sets tally_root
# Configures and builds one preset of CMakePresets.json. Sourced after common.sh.

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

# configure PRESET PYTHON CUDA TARGET: only where the folder is new or was configured for another place, environment
# or CUDA; a changed CMakeLists.txt is ninja's business. A new folder for the program alone compiles several bodies at
# a time, which takes less time; developers, who build the tests, change one file at a time.
configure() {
  local dir torch gpu=ON unity
  dir=$(build_dir "$1")
  unity=$(cache_entry "$dir" TALLY_UNITY) || true
  if [[ -z $unity ]]; then if [[ $4 == all ]]; then unity=OFF; else unity=ON; fi; fi
  torch=$("$2" -I -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])') ||
    die 5 "'$2' has no torch. Remove its environment and run jobs/setup.sh again."
  case $3 in
    none) gpu=OFF ;;
    auto) # as the folder was configured before
      gpu=$(cache_entry "$dir" TALLY_CUDA) || true
      gpu=${gpu:-AUTO}
      ;;
  esac
  if [[ -e $dir/build.ninja && $(cache_entry "$dir" TALLY_CUDA) == "$gpu" && $(cache_entry "$dir" LibTorch_ROOT) == "$torch" &&
    $(cache_entry "$dir" TALLY_PYTHON) == "$2" &&
    $(cache_entry "$dir" CMAKE_HOME_DIRECTORY) == "$tally_root" ]]; then
    return 0
  fi
  say "configuring $dir"
  quietly "cmake" cmake --preset "$1" --fresh -S "$tally_root" \
    "-DLibTorch_ROOT=$torch" "-DTALLY_PYTHON=$2" "-DTALLY_CUDA=$gpu" "-DTALLY_UNITY=$unity"
}

# build PRESET TARGET PYTHON CUDA; with $print it says nothing but that it takes long, and why it failed.
build() {
  local dir how
  dir=$(build_dir "$1")
  mkdir -p "$dir" || die 5 "cannot write '$dir'."
  lock "$dir/.setup.lock"
  configure "$1" "$3" "$4" "$2"
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
