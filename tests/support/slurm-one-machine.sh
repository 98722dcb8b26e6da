#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A throw-away Slurm cluster of several nodes on one machine, for tests and for trying batch scripts.
#
# Usage: slurm-one-machine.sh VERB
#
#   start             bring the cluster up, wait until every node is usable; nothing to do if it is up
#   status            daemons, nodes and jobs; fails unless all is up
#   exec CMD [ARG…]   run a command on the head node: sbatch, srun, squeue, …
#   on NODE CMD …     run a command on a node (node1, node2, …), without Slurm
#   rsh NODE CMD …    the same with ssh's quoting, to be mpirun's plm_rsh_agent
#   fail NODE         "power off" a node: kill all that runs there; start revives it
#   stop              cancel jobs, stop every daemon, remove the namespaces; keep logs
#   clean             stop, then remove the data directory
#   --help            this text
#
# Every node is a network, UTS and mount namespace with its own host name, address, /etc/hosts and
# /dev/shm; the head node holds the bridge, and nothing listens outside them. This needs root (in a
# container: with the right to make namespaces) and the packages of jobs/setup.sh --with-slurm; no
# systemd, no cgroups. SLURM_ONE_MODE=plain works for any user, whose jobs alone it can then run:
# several slurmd on 127.0.0.1, told apart by port.
#
# Environment (defaults in brackets); a running cluster remembers what it was started with:
#   SLURM_ONE_DIR    data directory                    [/tmp/slurm-one-machine]
#   SLURM_ONE_MODE   netns or plain                    [netns]
#   SLURM_ONE_NODES  number of nodes                   [3]
#   SLURM_ONE_CPUS   CPUs each node claims to have     [4]   (may exceed the real ones)
#   SLURM_ONE_GPUS   pretended GPUs per node           [2]
#   SLURM_ONE_NET    first three octets of the subnet  [10.77.0]
#   SLURM_ONE_DELAY_MS  milliseconds from node to node [0]   (a packet's way, in netns mode; needs /dev/net/tun)
#   SLURM_ONE_LOSS   part of the packets that is lost  [0]   (0.01: one in a hundred)
#   SLURM_ONE_SILENCE_S seconds without a sign after which a node counts as down [30]   (a full machine needs more)
#   SLURM_ONE_USER   user that exec and on run as      [the caller; another one only from root]
#
# Exit codes: 2 wrong usage, 5 this machine cannot run such a cluster, 9 a daemon failed.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../../jobs/lib/common.sh"
source "$tally_root/tests/support/slurm_one/processes.sh"
source "$tally_root/tests/support/slurm_one/network.sh"
source "$tally_root/tests/support/slurm_one/config.sh"

dir=${SLURM_ONE_DIR:-/tmp/slurm-one-machine}
mode=${SLURM_ONE_MODE:-netns}
num_nodes=${SLURM_ONE_NODES:-3}
cpus=${SLURM_ONE_CPUS:-4}
gpus=${SLURM_ONE_GPUS:-2}
subnet=${SLURM_ONE_NET:-10.77.0}
delay_ms=${SLURM_ONE_DELAY_MS:-0}
loss=${SLURM_ONE_LOSS:-0}
silence_s=${SLURM_ONE_SILENCE_S:-30}
me=$(id -un)
run_as=${SLURM_ONE_USER:-$me}
# shellcheck source=/dev/null
if [[ -f $dir/etc/settings ]]; then source "$dir/etc/settings"; fi

export PATH=/usr/sbin:/sbin:$PATH
export SLURM_CONF=$dir/etc/slurm.conf
tag=tally$(printf '%s' "$dir" | cksum | cut -d' ' -f1) # names the namespaces of this data directory
nodes=()
for ((i = 1; i <= num_nodes; i++)); do nodes+=("node$i"); done

say() { printf '%s: %s\n' "$script_name" "$*" >&2; } # stdout belongs to exec's command

start_slurmds() {
  local node
  for node in "${nodes[@]}"; do alive "slurmd-$node" || (at "$node" slurmd -N "$node"); done
  for node in "${nodes[@]}"; do
    within 20 alive "slurmd-$node" || die 9 "slurmd of $node did not start: see $dir/log/slurmd-$node.log"
  done
}

start_daemons() {
  munged --key-file="$dir/etc/munge.key" --socket="$dir/run/munge.socket" --pid-file="$dir/run/munged.pid" \
    --log-file="$dir/log/munged.log" --seed-file="$dir/run/munged.seed" || die 9 "munged did not start"
  within 10 alive munged || die 9 "munged did not start: see $dir/log/munged.log"
  (at head slurmctld)
  within 20 alive slurmctld || die 9 "slurmctld did not start: see $dir/log/slurmctld.log"
  within 20 in_head scontrol ping || die 9 "slurmctld does not answer: see $dir/log/slurmctld.log"
  start_slurmds
}

# Whether the network delays or loses packets.
is_far() { [[ $delay_ms != 0 || $loss != 0 ]]; }

in_head() { (at head "$@"); }

nodes_ready() { [[ $(in_head sinfo -h -N -o %T | grep -cxE 'idle|mixed|allocated') -eq $num_nodes ]]; }

daemons_up() {
  local node
  if is_far && ! alive relay; then return 1; fi
  alive munged && alive slurmctld && for node in "${nodes[@]}"; do alive "slurmd-$node" || return 1; done
}

no_jobs() { [[ -z $(in_head squeue -h) ]]; }

# What this machine lacks for such a cluster; 5 tells tests to skip.
check_machine() {
  local program
  for program in munged slurmctld slurmd sinfo ip nsenter unshare; do
    command -v "$program" >/dev/null || die 5 "there is no '$program' here. Run jobs/setup.sh --with-slurm --no-build."
  done
  [[ $mode == plain ]] && return
  if is_far && [[ ! -c /dev/net/tun ]]; then die 5 "there is no /dev/net/tun here, through which packets are delayed."; fi
  [[ $(id -u) == 0 ]] || die 5 "namespaces need root. SLURM_ONE_MODE=plain does not."
  unshare --net --uts --mount true 2>/dev/null ||
    die 5 "no namespaces can be made here (a container without the right to?). SLURM_ONE_MODE=plain needs none."
}

start_cluster() {
  [[ $mode == netns || $mode == plain ]] || die 2 "SLURM_ONE_MODE is '$mode', expected netns or plain."
  check_machine
  if is_far && [[ $mode == plain ]]; then die 2 "a network that delays or loses packets needs SLURM_ONE_MODE=netns."; fi
  if daemons_up; then
    say "already running"
  elif [[ -f $dir/etc/settings ]] && alive munged && alive slurmctld; then
    if is_far && ! alive relay; then join_by_relay; fi
    start_slurmds
  else
    # never take over a directory that something else filled
    [[ -f $SLURM_CONF || ! -e $dir || -z $(ls -A "$dir") ]] || die 2 "'$dir' holds other files."
    if [[ -f $SLURM_CONF ]]; then stop_cluster; else net_down; fi
    write_config
    if [[ $mode == netns ]]; then net_up; fi
    start_daemons
  fi
  if ! within 60 nodes_ready; then
    in_head sinfo -N -l >&2 || true
    die 9 "nodes are not ready: see $dir/log"
  fi
  say "$num_nodes nodes ready"
}

stop_cluster() {
  local file
  if [[ ! -f $SLURM_CONF ]]; then
    say "nothing to stop in $dir"
    return 0
  fi
  if alive slurmctld; then
    in_head bash -c 'squeue -h -o %A | sort -u | xargs -r scancel -Q' >/dev/null 2>&1 || true
    within 20 no_jobs || say "some jobs did not end in time"
  fi
  for file in "$dir"/run/slurmd-*.pid; do
    if [[ -e $file ]]; then stop_daemon "$(basename "$file" .pid)" 10; fi
  done
  stop_daemon slurmctld 20
  stop_daemon munged 10
  net_down
  rm -f "$dir/etc/settings"
  say "stopped"
}

show_status() {
  local daemon daemons=() code=0
  if is_far; then daemons=(relay); fi
  daemons+=(munged slurmctld "${nodes[@]/#/slurmd-}")
  for daemon in "${daemons[@]}"; do
    if alive "$daemon"; then
      echo "$daemon up (pid $(<"$dir/run/$daemon.pid"))"
    else
      echo "$daemon down"
      code=1
    fi
  done
  if ((code == 0)); then
    in_head sinfo -N -o '%N %T %c CPUs %G'
    in_head squeue
  fi
  return $code
}

fail_node() {
  [[ -f $dir/etc/settings && $mode == netns ]] || die 2 "fail needs a running cluster in netns mode."
  [[ " ${nodes[*]} " == *" $1 "* ]] || die 2 "no such node: $1"
  within 10 emptied "$tag-$1" || die 9 "$1 still runs something"
  rm -f "$dir/run/slurmd-$1.pid"
  # as after a fresh boot; a stale PMIx socket (spool) or directory (tmp) would fail the requeued step
  find "${dir:?}/tmp/$1" "$dir/shm/$1" "$dir/spool/$1" -mindepth 1 -delete
}

# run_on NODE CMD…: replaces this process.
run_on() {
  local node=${1:-}
  (($# > 1)) || die 2 "expected a command. See $script_name.sh --help."
  shift
  [[ -f $dir/etc/settings ]] || die 2 "no cluster runs in '$dir'."
  [[ " head ${nodes[*]} " == *" $node "* ]] || die 2 "no such node: $node"
  # More ranks than cores: waiting ranks must yield (else collectives take 100 to 1000 times as long), and
  # mpirun must not bind, for every "node" would bind its ranks to the same few real cores.
  export OMPI_MCA_mpi_yield_when_idle=${OMPI_MCA_mpi_yield_when_idle:-1}
  export OMPI_MCA_hwloc_base_binding_policy=${OMPI_MCA_hwloc_base_binding_policy:-none}
  # In plain mode every node has the same host name: shared-memory segments would collide.
  if [[ $mode == plain ]]; then export OMPI_MCA_btl=tcp,self; fi
  if [[ $run_as == root ]]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
  if [[ $run_as == "$me" ]]; then at "$node" "$@"; else at "$node" runuser -u "$run_as" -- "$@"; fi
}

verb=${1:---help}
(($# == 0)) || shift
case $verb in
  start) start_cluster ;;
  stop) stop_cluster ;;
  clean)
    stop_cluster
    if [[ -f $SLURM_CONF ]]; then rm -rf --one-file-system "$dir"; fi
    ;;
  status) show_status ;;
  exec) run_on head "$@" ;;
  on) run_on "$@" ;;
  rsh)
    node=${1:?node}
    shift
    run_on "$node" sh -c "$*"
    ;;
  fail) fail_node "${1:-}" ;;
  --help) show_help ;;
  *) die 2 "unknown verb '$verb'. See $script_name.sh --help." ;;
esac
