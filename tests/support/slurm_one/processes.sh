# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # slurm-one-machine.sh sets dir
# Daemons and their pid files. Sourced by slurm-one-machine.sh.

# within SECONDS CMD…: polls until CMD succeeds.
within() {
  local -i polls=$(($1 * 5))
  shift
  for (( ; polls > 0; polls--)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  return 1
}

# runs PID: it exists and is not a zombie (a lazy init may take seconds to reap one).
runs() {
  local state
  state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null) && [[ -n $state && $state != Z* ]]
}

gone() { ! runs "$1"; }

# alive NAME: the pid file's process is that daemon (not a stranger that got its pid later) and runs.
alive() {
  local pid program
  { read -r pid <"$dir/run/$1.pid" && [[ $pid =~ ^[0-9]+$ ]] && read -r program <"/proc/$pid/comm"; } 2>/dev/null ||
    return 1
  [[ $program == "${1%%-*}" ]] && runs "$pid"
}

# stop_daemon NAME SECONDS: TERM, wait, KILL.
stop_daemon() {
  local pid
  if alive "$1"; then
    pid=$(<"$dir/run/$1.pid")
    kill "$pid" 2>/dev/null || true
    within "$2" gone "$pid" || kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -f "$dir/run/$1.pid"
}
