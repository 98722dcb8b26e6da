# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # slurm-one-machine.sh sets dir, mode, nodes, subnet, tag
# Namespaces of the nodes and what joins them: a bridge, or a relay that delays and loses packets. Sourced by
# slurm-one-machine.sh.

address() {
  if [[ $mode == plain ]]; then
    echo 127.0.0.1
  elif [[ $1 == head ]]; then
    echo "$subnet.1"
  else
    echo "$subnet.$((10 + ${1#node}))"
  fi
}

# at NODE CMD…: runs CMD in a node's namespaces. Replaces the shell: call it last or in a subshell.
at() {
  local node=$1
  shift
  if [[ $mode == plain ]]; then exec "$@"; fi
  # shellcheck disable=SC2016 # expanded by the inner shell
  exec nsenter --net="/run/netns/$tag-$node" --uts="$dir/ns/$node.uts" \
    unshare --mount --propagation private bash -c '
      mount --bind "$0/etc/hosts" /etc/hosts
      mount --bind "$0/shm/'"$node"'" /dev/shm
      exec "$@"' "$dir" "$@"
}

net_up() {
  local node
  for node in head "${nodes[@]}"; do
    ip netns add "$tag-$node"
    ip netns exec "$tag-$node" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6' 2>/dev/null || true
    ip -n "$tag-$node" link set lo up
    : >"$dir/ns/$node.uts"
    unshare --uts="$dir/ns/$node.uts" hostname "$node"
    mkdir -p "$dir/shm/$node"
    mount -t tmpfs -o mode=1777,size=50% shm "$dir/shm/$node"
  done
  if is_far; then join_by_relay; else join_by_bridge; fi
}

join_by_bridge() {
  local node
  ip -n "$tag-head" link add br0 type bridge
  ip -n "$tag-head" addr add "$(address head)/24" dev br0
  ip -n "$tag-head" link set br0 up
  for node in "${nodes[@]}"; do
    ip link add "p$node" netns "$tag-head" type veth peer name eth0 netns "$tag-$node"
    ip -n "$tag-head" link set "p$node" master br0 up
    ip -n "$tag-$node" addr add "$(address "$node")/24" dev eth0
    ip -n "$tag-$node" link set eth0 up
  done
}

join_by_relay() {
  local node ends=()
  for node in head "${nodes[@]}"; do ends+=("$tag-$node=$(address "$node")"); done
  setsid python3 "$tally_root/tests/support/slurm_one/relay.py" --delay-ms "$delay_ms" --loss "$loss" \
    --pid-file "$dir/run/relay.pid" "${ends[@]}" >"$dir/log/relay.log" 2>&1 &
  within 20 alive relay || die 9 "the network was not made: $(tail -n 1 "$dir/log/relay.log")"
}

# emptied NETNS: kills whatever runs in it (all started by this cluster); true once nothing is left.
emptied() {
  local pid pids
  pids=$(ip netns pids "$1")
  for pid in $pids; do kill -KILL "$pid" 2>/dev/null || true; done
  [[ -z $pids ]]
}

net_down() {
  local name mount
  stop_daemon relay 5
  for name in $(ip netns list 2>/dev/null | awk -v tag="$tag-" 'index($1, tag) == 1 { print $1 }'); do
    within 10 emptied "$name" || say "processes are left in $name"
    ip netns del "$name"
  done
  for mount in "$dir"/ns/*.uts "$dir"/shm/*; do
    if mountpoint -q "$mount" 2>/dev/null; then umount -l "$mount"; fi
  done
  rm -rf --one-file-system "$dir/ns" "$dir/shm"
}
