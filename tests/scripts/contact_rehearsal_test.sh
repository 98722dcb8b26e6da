#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/contact.sh where the GPU is a simulated one: what needs Tally alone must work, so that the
# script is alive when a GPU is there. What PyTorch does on a GPU fails here, and is counted.
#
# Usage: contact_rehearsal_test.sh PROGRAM KERNEL_TESTS, both with the simulated GPU
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
program=$1 kernel_tests=$2
python=${TALLY_PYTHON:?names the interpreter of the pinned environment}

says() { grep -qE "$1" "$scratch/out" || fail "'$1' is not in: $(<"$scratch/out")"; }

mkdir -p "$scratch/bin" "$scratch/build/tests/gpu"
ln -s "$program" "$scratch/build/tally"
ln -s "$kernel_tests" "$scratch/build/tests/gpu/gpu_test"
write_program "$scratch/bin/nvidia-smi" <<<'echo "some GPU, 1, 2"'
# Of the end-to-end tests a few; ctest runs all of them.
write_program "$scratch/bin/python" <<<"
case \$* in '-m pytest'*) exec '$python' \"\$@\" -k 'a_trace or two_ranks' ;; *) exec '$python' \"\$@\" ;; esac"
export PATH=$scratch/bin:$PATH TALLY_PYTHON=$scratch/bin/python TMPDIR=$scratch CUDA_VISIBLE_DEVICES=
expect_exit 1 "$project/tests/gpu/contact.sh" --build "$scratch/build" --results "$scratch/results" \
  --images 100 --only '32 x 32' machine correct rates

says '^environment +passed'
says '^ceilings +FAILED'
says '^gpu_test MulticlassPassOnGpu +passed'
says '^end to end +passed'
says '^tally, ResNet-18 of 32 x 32 fp32, graphs off, batches of 64 +[0-9.]+ images/s'
