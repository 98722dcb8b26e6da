# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # lib.sh sets project and scratch
# For the tests of jobs/setup.sh. Sourced after lib.sh.

# A project of its own, so that no test touches the real build; it requires nothing.
copy=$scratch/"a project"
mkdir -p "$copy/data_tools" "$copy/tests"
cp -r "$project/jobs" "$copy"
touch "$copy"/{data_tools/requirements,data_tools/requirements-dashboards,data_tools/requirements-onnx,tests/requirements}.{txt,lock}
export TALLY_ENV=$scratch/"my env" TMPDIR=$scratch
unset CONDA_PREFIX CMAKE_PREFIX_PATH HDF5_ROOT HDF5_DIR

setup() { "$copy/jobs/setup.sh" "$@"; }

# write_wheel NAME: of a package with nothing in it.
write_wheel() {
  (
    cd "$scratch" || exit
    mkdir -p "$1" "$1-1.dist-info"
    touch "$1/__init__.py"
    printf 'Metadata-Version: 2.1\nName: %s\nVersion: 1\n' "$1" >"$1-1.dist-info/METADATA"
    printf 'Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >"$1-1.dist-info/WHEEL"
    printf '%s,,\n' "$1/__init__.py" "$1"-1.dist-info/{METADATA,WHEEL,RECORD} >"$1-1.dist-info/RECORD"
    python3 -m zipfile -c "$1-1-py3-none-any.whl" "$1" "$1-1.dist-info"
    rm -r "$1" "$1-1.dist-info"
  )
}

# require NAME [HASH]: that wheel from now on; by another hash than its own it must not be installed.
require() {
  local wheel=$scratch/$1-1-py3-none-any.whl hash=${2:-}
  [[ -n $hash ]] || hash=$(sha256sum <"$wheel" | cut -d' ' -f1)
  echo "$wheel" >>"$copy/data_tools/requirements.txt"
  echo "$wheel --hash=sha256:$hash" >>"$copy/data_tools/requirements.lock"
}
