#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what Tally needs and is missing here, and builds it. Safe and quick to run again.
#
# Usage: jobs/setup.sh [OPTION…]
#
#   --print         say nothing on stdout but the settings of TALLY_BIN (the program) and TALLY_PYTHON
#                   (an interpreter with torch), for:  eval "$(jobs/setup.sh --print)"
#                   (after a failure it prints 'false', so that eval fails too)
#   --tests         build the tests too, and install what they need
#   --preset NAME   build this preset of CMakePresets.json: release (default), debug, asan, tsan, coverage
#   --no-build      install only
#   --no-install    install nothing: fail if something is missing
#   --cuda WHICH    auto (default): for GPUs where there is nvcc; none: for CPUs alone, and a new
#                   environment without Triton and what else only GPUs need (1.2 GB less);
#                   13: for GPUs, with a compiler where there is no nvcc (Python packages, 270 MB);
#                   12: for GPUs with drivers that are too old for CUDA 13, by a site's nvcc of CUDA 12.0
#                   to 12.6 and PyTorch's wheels for it, in an environment of their own (as --any-wheels)
#   --with-cuda     the same as --cuda 13
#   --with-dashboards  also install the packages that data_tools/publish.py publishes to
#   --with-openvino  also what reads and writes ONNX models: OpenVINO and its like (220 MB), and protozero
#   --any-wheels    take the pinned versions of Python packages, but from any index or site, without comparing
#                   their files with the hashes of the lock files
#   --with-lint     also install the linters that .ci/run uses
#   --with-slurm    also install Slurm and modules, for the tests that play a cluster on this machine
#   --help          this text
#
# System packages are those of jobs/packages-debian.txt; they are installed with apt-get, as root or
# through sudo, and only if missing. Elsewhere a message says how to get them on a cluster.
# Python packages (pinned in data_tools/requirements*.txt, tests/requirements.txt, with the SHA-256 of their files in
# the .lock beside each) go to ${TALLY_ENV:-$HOME/.cache/tally/env}.
# Exit codes: 0 ok, 2 wrong usage, 5 something is missing or a step failed.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
source "$tally_root/jobs/lib/packages.sh"
source "$tally_root/jobs/lib/python_env.sh"
source "$tally_root/jobs/lib/build.sh"
source "$tally_root/jobs/lib/cuda.sh"

print='' preset=release target=tally_program policy=install wants_build=yes cuda=auto groups=(build)

parse_options() {
  while (($# > 0)); do
    case $1 in
      --print) print=yes ;;
      --tests)
        target=all
        wanted_packages+=(dashboards onnx tests)
        groups+=(onnx)
        ;;
      --preset)
        preset=${2:-}
        shift
        [[ $preset =~ ^(release|debug|asan|tsan|coverage)$ ]] ||
          die 2 "--preset is '$preset', expected release, debug, asan, tsan or coverage."
        ;;
      --no-build) wants_build='' ;;
      --no-install) policy=check ;;
      --with-cuda) cuda=13 ;;
      --cuda)
        cuda=${2:-}
        shift
        [[ $cuda =~ ^(auto|12|13|none)$ ]] || die 2 "--cuda is '$cuda', expected auto, 12, 13 or none."
        ;;
      --with-dashboards) wanted_packages+=(dashboards) ;;
      --with-openvino)
        wanted_packages+=(onnx)
        groups+=(onnx)
        ;;
      --any-wheels) any_wheels=yes ;;
      --with-lint) groups+=(lint) ;;
      --with-slurm) groups+=(slurm) ;;
      --help)
        show_help
        exit 0
        ;;
      *) die 2 "unknown option '$1'. See jobs/setup.sh --help." ;;
    esac
    shift
  done
}

print_settings() {
  local python=$1
  printf 'export TALLY_BIN=%q TALLY_PYTHON=%q\n' "$(build_dir "$preset")/tally" "$python"
}

# end EXIT_CODE
end() {
  end_early_build stop
  if [[ -n $reporter ]]; then kill "$reporter" 2>/dev/null || true; fi
  if [[ $1 != 0 && -n $print ]]; then echo false >&3; fi
}

main() {
  local python
  exec 3>&1
  trap 'end "$?"' EXIT
  if [[ " $* " == *' --print '* ]]; then  # before the options are looked at: they may be wrong
    print=yes
    exec 1>&2
  fi
  parse_options "$@"
  choose_cuda "$cuda"
  python=$(environment_dir)/bin/python
  ensure_packages "$policy" "${groups[@]}"
  if [[ -n $wants_build && $policy == install ]] && ! environment_is_ready "$cuda"; then
    begin_early_build "$preset"
  fi
  ensure_environment "$policy" "$cuda"
  end_early_build wait
  if [[ $cuda == 13 ]]; then ensure_cuda_compiler "$policy" "$preset"; fi
  if [[ -n $wants_build ]]; then
    build "$preset" "$target" "$python" "$cuda"
    say_gpu "$preset"
  fi
  if [[ -n $print ]]; then print_settings "$python" >&3; fi
}

main "$@"
