#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains the ConvNet of the MNIST tutorial on two processes, and evaluates every checkpoint beside it on two
# ranks; the training stops early once the accuracy has not gained more than its interval for a while.
#
# Usage: jobs/examples/train_and_watch.sh [FOLDER]
#
#   FOLDER   where all files go, default train-and-watch
#   --help   this text
#
# The variables below may be set in the environment. Ctrl-C ends the training first, then the watch.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
source "$tally_root/jobs/lib/mpi.sh"

mnist=${MNIST:-${TALLY_DATA_DIR:+$TALLY_DATA_DIR/mnist}} # folder of MNIST's four idx files, gzipped or not
processes=${PROCESSES:-2}                                # that train
ranks=${RANKS:-2}                                        # that evaluate
epochs=${EPOCHS:-20}                                     # at most
patience=${PATIENCE:-3}                                  # checkpoints without a gain until the training stops
poll=${POLL:-1}                                          # seconds between two looks for a checkpoint

examples=$tally_root/jobs/examples
tools=$tally_root/data_tools
trainer='' watch='' # process numbers

# once FILE COMMAND…: runs the command that makes FILE unless FILE is there.
once() {
  local file=$1
  shift
  if [[ ! -e $file ]]; then "$@" --output "$file"; fi
}

prepare() {
  once "$folder/mnist.h5" "$TALLY_PYTHON" "$tools/prepare_mnist.py" --input "$mnist" --split test
  once "$folder/mnist.pt" "$TALLY_PYTHON" "$tools/export_model.py" \
    --model "$examples/train_mnist_ddp.py:mnist_convnet" --input-shape 1,28,28
  mkdir "$folder/checkpoints"
}

# Both in sessions of their own: Ctrl-C in a terminal would end them at once, in no order.
start() {
  settle_mpi "$ranks"
  OMP_NUM_THREADS=1 setsid "$TALLY_PYTHON" -m torch.distributed.run --standalone --nproc-per-node "$processes" \
    "$examples/train_mnist_ddp.py" --data "$mnist" --output "$folder/checkpoints" \
    --stop-folder "$folder/watch" --epochs "$epochs" &
  trainer=$!
  setsid mpirun -n "$ranks" "$TALLY_BIN" watch --checkpoints "$folder/checkpoints" --model "$folder/mnist.pt" \
    --data "$folder/mnist.h5" --output "$folder/watch" --save none --poll "$poll" --monitor accuracy \
    --patience "$patience" --progress off </dev/null &
  watch=$!
}

# end SIGNAL PROCESS: asks it to end, if it still runs, and waits until it has.
end() {
  if [[ -n $2 ]] && kill "-$1" "$2" 2>/dev/null; then wait "$2" || true; fi
}

interrupted() {
  trap '' INT TERM
  end TERM "$trainer"
  end USR1 "$watch" # mpirun passes it on; SIGTERM kills the ranks a second later
  print_best
  exit $((128 + $1))
}

print_best() {
  "$TALLY_PYTHON" - "$tools" "$folder/watch" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
from early_stopping import best, reason
print(f"best checkpoint: {best(sys.argv[2])}")
if reason(sys.argv[2]):
    print(f"stopped early:   {reason(sys.argv[2])}")
PYTHON
}

main() {
  local settings trained=0 watched=0
  [[ ${1:-} != --help ]] || { show_help; exit 0; }
  [[ ${1:-} != -* && $# -le 1 ]] || die 2 "unknown option '$1'. See train_and_watch.sh --help."
  folder=${1:-train-and-watch}
  [[ -d $mnist ]] || die 2 "MNIST='$mnist' is no folder. Set MNIST to the folder of MNIST's four idx files."
  [[ ! -e $folder/checkpoints ]] || die 6 "'$folder' holds a training already. Name another folder."
  if [[ -z ${TALLY_BIN:-} || -z ${TALLY_PYTHON:-} ]]; then
    settings=$("$tally_root/jobs/setup.sh" --print)
    eval "$settings"
  fi
  mkdir -p "$folder"
  prepare
  trap 'interrupted 2' INT
  trap 'interrupted 15' TERM
  start
  wait "$trainer" || trained=$?
  if ((trained != 0)); then touch "$folder/checkpoints/done"; fi # what is there is evaluated all the same
  wait "$watch" || watched=$?
  print_best
  return $((trained != 0 ? trained : watched))
}

main "$@"
