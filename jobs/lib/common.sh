# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # used by the scripts that source this
# Shared by the scripts of jobs/ and tests/: places, messages, locks. Sourced, never run.

tally_root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
script_name=$(basename "$0" .sh)

say() { printf '%s: %s\n' "$script_name" "$*"; }

# die EXIT_CODE MESSAGE…: the codes are those of the program (2 usage, 5 environment).
die() {
  local code=$1
  shift
  printf '%s: error[%d] %s\n' "$script_name" "$code" "$*" >&2
  exit "$code"
}

# The leading comment of a script, after the line of its licence, is its help.
show_help() {
  awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub(/^# ?/, ""); print }' "$0"
}

# Where the Python environment lives.
environment_dir() {
  [[ -n ${TALLY_ENV:-} || -n ${HOME:-} ]] ||
    die 5 "neither TALLY_ENV nor HOME is set, so there is no place for the Python environment. Set TALLY_ENV to a folder."
  local dir=${TALLY_ENV:-$HOME/.cache/tally/env}
  [[ $dir == /* ]] || dir=$PWD/$dir
  printf '%s\n' "$dir"
}

# lock FILE: holds the lock until this process ends, so that two set-ups at once take turns.
lock() {
  local file=$1 descriptor
  exec {descriptor}>>"$file" || die 5 "cannot write '$file'."
  if ! flock --nonblock "$descriptor"; then
    say "waiting for another set-up that holds '$file'"
    flock "$descriptor" || die 5 "cannot lock '$file' (a file system without locks?). Set TALLY_ENV to a folder on another one."
  fi
}

progress_every=10 # seconds
reporter=''       # the process that reports progress

# report_progress WHAT LOG: the last line of LOG now and then, until it is ended.
report_progress() {
  local nap=''
  trap '[[ -z $nap ]] || kill "$nap" 2>/dev/null; exit 0' TERM
  while sleep "$progress_every" & nap=$!; wait "$nap" && kill -0 "$$" 2>/dev/null; do
    say "$1: $((SECONDS - began)) s; $(tail -c 2000 "$2" | tr '\r' '\n' | tail -n 1 | cut -c -100)"
  done
}

# quietly WHAT COMMAND…: runs a command whose output matters only when it fails; that it still runs is said.
quietly() {
  local what=$1 log began=$SECONDS code=0
  shift
  log=$(mktemp --suffix=.tally-setup.log)
  report_progress "$what" "$log" 3>&- </dev/null & # 3: what setup.sh --print is read from
  reporter=$!
  "$@" >"$log" 2>&1 </dev/null || code=$?
  kill "$reporter" 2>/dev/null || true
  wait "$reporter" 2>/dev/null || true
  reporter=''
  if ((code != 0)); then
    tail -n 25 "$log" >&2
    die 5 "$what failed; the end of its output stands above, all of it in '$log'."
  fi
  rm -f "$log"
}
