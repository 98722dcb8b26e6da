#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From nothing to a result: sets Tally up, prepares a small real data set (scikit-learn's handwritten
# digits), trains a ConvNet for some seconds, exports it and evaluates it.
#
# Usage: jobs/quickstart.sh [--ranks N] [FOLDER]
#
#   --ranks N   MPI ranks to evaluate on, default 2
#   FOLDER      where the files go, default quickstart-run
#   --help      this text
#
# Run it again to evaluate again: data and model are made anew only when what they are made of has changed.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
source "$tally_root/jobs/lib/mpi.sh"

ranks=2 folder=quickstart-run
example=$tally_root/examples/digits
tools=$tally_root/data_tools

parse_options() {
  while (($# > 0)); do
    case $1 in
      --ranks)
        ranks=${2:-}
        shift
        [[ $ranks =~ ^[1-9][0-9]*$ ]] || die 2 "--ranks is '$ranks', expected a whole number from 1 on."
        ;;
      --help)
        show_help
        exit 0
        ;;
      -*) die 2 "unknown option '$1'. See jobs/quickstart.sh --help." ;;
      *) folder=$1 ;;
    esac
    shift
  done
}

# make_if_stale FILE SOURCE… -- COMMAND…: runs the command that makes FILE, unless FILE is newer than
# every SOURCE (files, or folders of them).
make_if_stale() {
  local file=$1
  local -a sources=()
  shift
  while [[ $1 != -- ]]; do
    sources+=("$1")
    shift
  done
  shift
  if [[ -e $file && -z $(find -L "${sources[@]}" -name __pycache__ -prune -o -type f -newer "$file" -print -quit) ]]; then
    say "$file is up to date"
  else
    rm -f "$file"
    "$@"
  fi
}

prepare_data() {
  local split file
  for split in train test; do
    file=$folder/digits-$split.h5
    make_if_stale "$file" "$tools" -- \
      "$TALLY_PYTHON" "$tools/prepare_digits.py" --split "$split" --output "$file"
  done
}

train_model() {
  make_if_stale "$folder/digits.pth" "$folder/digits-train.h5" "$example" -- \
    "$TALLY_PYTHON" "$example/train.py" --data "$folder/digits-train.h5" --output "$folder/digits.pth"
}

export_model() {
  make_if_stale "$folder/digits.pt" "$folder/digits.pth" "$example" "$tools" -- \
    "$TALLY_PYTHON" "$tools/export_model.py" --model "$example/model.py:digits_convnet" \
    --input-shape 1,8,8 --weights "$folder/digits.pth" --format torchscript --output "$folder/digits.pt"
}

evaluate() {
  local -a command=(mpirun -n "$ranks" "$TALLY_BIN" evaluate --model "$folder/digits.pt"
    --data "$folder/digits-test.h5" --output "$folder/result" --overwrite --progress bar)
  settle_mpi "$ranks"
  say "${command[*]}"
  "${command[@]}"
}

main() {
  local settings
  parse_options "$@"
  settings=$("$tally_root/jobs/setup.sh" --print)
  eval "$settings"
  mkdir -p "$folder"
  prepare_data
  train_model
  export_model
  evaluate
  say "report:      $folder/result/report.json"
  say "predictions: $folder/result/predictions.h5 (one row per sample, in order)"
}

main "$@"
