#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where CUDA's runtime lies beside LibTorch: in the layouts of wheels, containers, Spack, conda and LibTorch's
# archive, played with small libraries that name each other as the real ones do.
# shellcheck disable=SC2016 # $ORIGIN is the loader's
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

# library FILE [GCC ARGUMENT…]
library() {
  local file=$1
  shift
  mkdir -p "$(dirname "$file")"
  gcc -shared -fPIC "$scratch/nothing.c" -o "$file" "$@"
}

# runtime FOLDER NAME VERSION: libcudart in FOLDER/lib, its header in FOLDER/include.
runtime() {
  library "$1/lib/$2" "-Wl,-soname,$2"
  mkdir -p "$1/include"
  echo "#define CUDART_VERSION $3" >"$1/include/cuda_runtime_api.h"
}

# torch FOLDER RUNTIME RUNPATH: FOLDER/lib/libtorch_cuda.so, which needs that library.
torch() { library "$1/lib/libtorch_cuda.so" -Wl,--no-as-needed "$2" "-Wl,-rpath,$3"; }

# finds TORCH TEXT: what CMake says of it ends with TEXT.
finds() {
  local found
  found=$(cmake "-DLIBTORCH_CUDA=$1/lib/libtorch_cuda.so" -P "$project/tests/packaging/print_cuda_runtime.cmake" 2>&1)
  [[ $found == *"$2" ]] || fail "in $1: '$found' does not end with '$2'"
}

cd "$(cd -P "$scratch" && pwd)"
here=$PWD
echo 'void nothing(void) {}' >nothing.c

runtime wheels13/nvidia/cu13 libcudart.so.13 13000
torch wheels13/torch wheels13/nvidia/cu13/lib/libcudart.so.13 '$ORIGIN/../../nvidia/cu13/lib'
finds wheels13/torch "$here/wheels13/nvidia/cu13/lib/libcudart.so.13 13 13000"

runtime wheels12/nvidia/cuda_runtime libcudart.so.12 12060
torch wheels12/torch wheels12/nvidia/cuda_runtime/lib/libcudart.so.12 '$ORIGIN/../../nvidia/cuda_runtime/lib'
finds wheels12/torch "$here/wheels12/nvidia/cuda_runtime/lib/libcudart.so.12 12 12060"

# A folder with a space in its name.
runtime 'my wheels/nvidia/cu13' libcudart.so.13 13000
torch 'my wheels/torch' 'my wheels/nvidia/cu13/lib/libcudart.so.13' '$ORIGIN/../../nvidia/cu13/lib'
finds 'my wheels/torch' "$here/my wheels/nvidia/cu13/lib/libcudart.so.13 13 13000"

# A container: the toolkit's folder is known to the loader.
runtime container/cuda libcudart.so.13 13010
torch container/torch container/cuda/lib/libcudart.so.13 /nowhere
LD_LIBRARY_PATH=$here/container/cuda/lib finds container/torch "$here/container/cuda/lib/libcudart.so.13 13 13010"

# Spack and EasyBuild: prefixes of their own, by their full names.
runtime spack/cuda-12.4 libcudart.so.12 12040
torch spack/py-torch/torch spack/cuda-12.4/lib/libcudart.so.12 "$here/spack/cuda-12.4/lib"
finds spack/py-torch/torch "$here/spack/cuda-12.4/lib/libcudart.so.12 12 12040"

# conda: all in one prefix.
runtime conda libcudart.so.12 12090
torch conda/lib/python3.12/site-packages/torch conda/lib/libcudart.so.12 '$ORIGIN/../../../..'
finds conda/lib/python3.12/site-packages/torch "$here/conda/lib/libcudart.so.12 12 12090"

# LibTorch's archive: a hash in the name, no header.
library archive/libtorch/lib/libcudart-9335f6a2.so.12 -Wl,-soname,libcudart-9335f6a2.so.12
torch archive/libtorch archive/libtorch/lib/libcudart-9335f6a2.so.12 '$ORIGIN'
finds archive/libtorch "$here/archive/libtorch/lib/libcudart-9335f6a2.so.12 12 "

# What there is no runtime for.
finds nothing/torch 'none: this LibTorch is one for CPUs'
runtime lost/cuda libcudart.so.99 99000
torch lost/torch lost/cuda/lib/libcudart.so.99 /nowhere
finds lost/torch 'LibTorch needs libcudart.so.99, which is not found (load CUDA'"'"'s module, or set LD_LIBRARY_PATH)'
