#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Versions of LibTorch that are taken, and others that are refused by name, with folders that look like theirs.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

# libtorch VERSION: a folder of that name.
libtorch() {
  local major minor patch
  IFS=. read -r major minor patch <<<"$1"
  mkdir -p "$1/include/torch/headeronly" "$1/lib"
  printf '#define TORCH_VERSION_%s %s\n' MAJOR "$major" MINOR "$minor" PATCH "$patch" >"$1/include/torch/headeronly/version.h"
  gcc -shared -fPIC nothing.c -o "$1/lib/libtorch_cpu.so"
  gcc -shared -fPIC nothing.c -o "$1/lib/libc10.so"
}

# configured VERSION: what CMake says of it.
configured() {
  libtorch "$1"
  cmake -S project -B "build-$1" "-DLibTorch_ROOT=$scratch/$1" 2>&1
}

cd "$scratch"
echo 'void nothing(void) {}' >nothing.c
mkdir project
{
  echo 'cmake_minimum_required(VERSION 3.25)'
  echo 'project(versions LANGUAGES CXX)'
  echo "list(APPEND CMAKE_MODULE_PATH $project/cmake)"
  grep 'find_package(LibTorch' "$project/cmake/TallyDependencies.cmake"
  # shellcheck disable=SC2016 # CMake's variable
  echo 'message(STATUS "taken: ${LibTorch_VERSION}")'
} >project/CMakeLists.txt

for version in 2.10.0 2.12.1 2.15.1; do
  found=$(configured "$version") || fail "LibTorch $version is refused: $found"
  [[ $found == *"taken: $version"* ]] || fail "of LibTorch $version: $found"
done
for version in 2.9.1 2.16.0 3.0.0; do
  if found=$(configured "$version"); then fail "LibTorch $version is taken: $found"; fi
  [[ $(tr -s '\n ' ' ' <<<"$found") == *"Found unsuitable version \"$version\", required range is \"2.10...<2.16\""* ]] ||
    fail "of LibTorch $version: $found"
done
