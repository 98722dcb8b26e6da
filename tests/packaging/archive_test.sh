#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The archive of `cpack -G TGZ` runs from any folder, finds LibTorch where it is told, and holds no path of
# the home it was built in.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
: "${TALLY_TEST_BUILD:?run this through ctest}" "${TALLY_TEST_LIBTORCH:?}" "${TALLY_PYTHON:?}"

unpacked=$scratch/"any folder"
torch=$scratch/"a torch" # not the place it was built with
home=$scratch/home
mkdir "$unpacked" "$home"
ln -s "$TALLY_TEST_LIBTORCH" "$torch"
cpack -G TGZ -B "$scratch/pack" --config "$TALLY_TEST_BUILD/CPackConfig.cmake" >"$scratch/out" 2>&1 ||
  fail "cpack: $(<"$scratch/out")"
tar --extract --file "$scratch"/pack/tally-*.tar.gz --strip-components 1 --directory "$unpacked"
rm -rf "$scratch/pack"
cd /

# With nothing of this shell's environment.
elsewhere() {
  env -i HOME="$home" PATH=/usr/bin:/bin OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 "$@"
}

says_its_version() {
  expect_exit 0 elsewhere LibTorch_ROOT="$torch" "$unpacked/bin/tally" --version
  expect_line "$scratch/out" "LibTorch "
  expect_exit 0 elsewhere LD_LIBRARY_PATH="$torch/lib" "$unpacked/bin/tally" --version
}

says_how_to_find_libtorch() {
  expect_exit 0 elsewhere "$unpacked/bin/tally" --help
  expect_exit 0 elsewhere "$unpacked/bin/tally" --version
  expect_line "$scratch/out" "LibTorch cannot be loaded (libtorch_cpu.so"
  (cd "$scratch" && echo text >data.pkl && "$TALLY_PYTHON" -m zipfile -c archive.zip data.pkl)
  expect_exit 5 elsewhere "$unpacked/bin/tally" inspect "$scratch/archive.zip"
  expect_line "$scratch/err" "LibTorch cannot be loaded (libtorch_cpu.so"
  expect_line "$scratch/err" "LibTorch_ROOT"
  expect_exit 5 elsewhere LibTorch_ROOT="$home" "$unpacked/bin/tally" --version
  expect_line "$scratch/err" "LibTorch_ROOT is '$home', where there is no lib/libtorch_cpu.so"
}

# A wheel for GPUs has CUDA's libraries in folders beside it. The program is played by one that shows what it gets.
finds_cuda_beside_libtorch() {
  local wheels=$scratch/wheels copy=$scratch/copy
  mkdir -p "$wheels/torch/lib" "$wheels/nvidia/cu13/lib" "$copy/bin" "$copy/libexec/tally"
  touch "$wheels/torch/lib/libtorch_cpu.so"
  cp "$unpacked/bin/tally" "$copy/bin"
  # shellcheck disable=SC2016 # expanded by the program
  write_program "$copy/libexec/tally/tally" <<<'echo "$LD_LIBRARY_PATH $*"'
  expect_exit 0 elsewhere LibTorch_ROOT="$wheels/torch" LD_LIBRARY_PATH=/before "$copy/bin/tally" check
  expect_line "$scratch/out" "$wheels/torch/lib:$(readlink -f "$wheels")/torch/../nvidia/cu13/lib:/before check"
}

evaluates_digits() {
  "$TALLY_PYTHON" "$unpacked/share/tally/data_tools/prepare_digits.py" --split test --output "$scratch/digits.h5" >/dev/null
  "$TALLY_PYTHON" "$unpacked/share/tally/data_tools/export_model.py" --output "$scratch/digits.pt" \
    --model "$project/examples/digits/model.py:digits_convnet" --input-shape 1,8,8 >/dev/null 2>&1
  local -a evaluate=("$unpacked/bin/tally" evaluate --model "$scratch/digits.pt" --data "$scratch/digits.h5")
  elsewhere LibTorch_ROOT="$torch" mpirun -n 2 "${evaluate[@]}" --output "$scratch/carried" >/dev/null
  "$TALLY_TEST_BUILD/tally" evaluate "${evaluate[@]:2}" --output "$scratch/built" >/dev/null 2>&1
  local carried built
  carried=$(digests "$scratch/carried") built=$(digests "$scratch/built")
  [[ -n $built && $carried == "$built" ]] || fail "digests differ: $carried, $built"
}

digests() {
  "$TALLY_PYTHON" -c 'import json, sys; d = json.load(open(sys.argv[1]))["digests"]; print(d["state"], d["predictions"])' \
    "$1/report.json"
}

# What the loader is told, and the scripts: neither this machine's LibTorch nor anything in a home.
holds_no_path_of_its_builder() {
  objdump -p "$unpacked/libexec/tally/tally" | grep RUNPATH >"$scratch/out"
  expect_line "$scratch/out" "\$ORIGIN/../../lib/tally"
  expect_no_line "$scratch/out" "$TALLY_TEST_LIBTORCH"
  expect_no_line "$scratch/out" "$HOME/"
  local library
  library=$(find "$unpacked" -path '*/tally/libtally_torch.so')
  objdump -p "$library" >"$scratch/out"
  expect_line "$scratch/out" "RUNPATH              \$ORIGIN"
  expect_no_line "$scratch/out" "/torch/lib"
  if [[ -e $TALLY_TEST_BUILD/libtally_cuda_graphs.so ]]; then
    library=$(find "$unpacked" -path '*/tally/libtally_cuda_graphs.so')
    [[ -n $library ]] || fail "no libtally_cuda_graphs.so beside the small libraries"
    objdump -p "$library" >"$scratch/out"
    expect_line "$scratch/out" "libtorch_cuda.so"
    expect_no_line "$scratch/out" "PATH"
  fi
  if grep --recursive --fixed-strings --binary-files=without-match -e "$TALLY_TEST_BUILD" -e "$project" \
    "$unpacked" >"$scratch/out"; then
    fail "paths of the build: $(<"$scratch/out")"
  fi
}

carries_what_jobs_need() {
  local file
  for file in evaluate-{cpu,gpu,array}.sbatch collect-reports.py examples/{train,watch}.sbatch examples/train_mnist_ddp.py; do
    [[ -x $unpacked/share/tally/jobs/$file ]] || fail "no $file in the archive"
  done
  [[ -r $unpacked/share/tally/jobs/lib/evaluation_job.sh ]] || fail "no file of the jobs in the archive"
  elsewhere "$unpacked/share/tally/jobs/collect-reports.py" "$scratch" >"$scratch/table"
  expect_line "$scratch/table" "carried "
}

# Debian's, by which these tests run.
carries_notices_and_bill_of_materials() {
  local package
  for package in libfmt libgoogle-perftools libisal libspdlog libssl libunistring nlohmann-json3; do
    cmp "/usr/share/doc/$package-dev/copyright" "$unpacked/share/doc/tally/notices/$package-dev.txt" ||
      fail "no notice of $package in the archive"
  done
  expect_line "$unpacked"/share/doc/tally/tally-*.spdx.json '"spdxVersion": "SPDX-2.3"'
}

says_its_version
says_how_to_find_libtorch
finds_cuda_beside_libtorch
holds_no_path_of_its_builder
evaluates_digits
carries_what_jobs_need
carries_notices_and_bill_of_materials
