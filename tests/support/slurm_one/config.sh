# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # slurm-one-machine.sh sets dir, mode, nodes, cpus, gpus, …
# The cluster's files: keys, hosts, pretended GPUs, slurm.conf. Sourced by slurm-one-machine.sh.

write_config() {
  mkdir -p "$dir"/{etc,run,log,state,spool,tmp,dev,ns,shm}
  chmod 755 "$dir" "$dir"/{etc,run,tmp,dev}
  [[ -s $dir/etc/munge.key ]] || (umask 077 && head -c 128 /dev/urandom >"$dir/etc/munge.key")
  write_hosts
  write_gpus
  write_slurm_conf
  printf 'mode=%s num_nodes=%s cpus=%s gpus=%s subnet=%s delay_ms=%s loss=%s\n' "$mode" "$num_nodes" "$cpus" "$gpus" \
    "$subnet" "$delay_ms" "$loss" >"$dir/etc/settings"
}

write_hosts() {
  local node
  echo "127.0.0.1 localhost" >"$dir/etc/hosts"
  for node in head "${nodes[@]}"; do echo "$(address "$node") $node" >>"$dir/etc/hosts"; done
}

# gres/gpu wants one character device for each GPU (never opened here); the index comes from the file name.
write_gpus() {
  local file=$dir/dev/gpu
  for ((i = 0; i < gpus; i++)); do
    [[ -c $file$i ]] || mknod -m 666 "$file$i" c 1 3 2>/dev/null || {
      file=/dev/tty
      break
    }
  done
  for ((i = 0; i < gpus; i++)); do
    if [[ ! -c $file$i ]]; then
      say "no device to stand for GPU $i: nodes have $i"
      gpus=$i
    fi
  done
  : >"$dir/etc/gres.conf"
  if ((gpus > 0)); then echo "Name=gpu File=${file}[0-$((gpus - 1))]" >"$dir/etc/gres.conf"; fi
}

node_lines() {
  local node line
  for node in "${nodes[@]}"; do
    mkdir -p "$dir/spool/$node" "$dir/tmp/$node"
    chmod 1777 "$dir/tmp/$node"
    line="NodeName=$node NodeAddr=$(address "$node") CPUs=$cpus RealMemory=4000 State=UNKNOWN"
    if ((gpus > 0)); then line+=" Gres=gpu:$gpus"; fi
    if [[ $mode == plain ]]; then line+=" NodeHostname=$(hostname) Port=$((17810 + ${node#node}))"; fi
    echo "$line"
  done
}

# No cgroups and no CPU binding, so that nodes may claim more CPUs than the machine has. TmpFS is also the
# base of PMIx's directory of a step, so it differs from node to node. cred_expire is also how long a
# requeued job waits before it may start again (120 s by default). KillOnBadExit is what strict sites set.
write_slurm_conf() {
  local head=head
  if [[ $mode == plain ]]; then head=$(hostname); fi
  cat >"$SLURM_CONF" <<END
ClusterName=one
SlurmctldHost=$head($(address head))
SlurmctldPort=17801
SlurmdPort=17802
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=$dir/run/munge.socket,cred_expire=10
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
TmpFS=$dir/tmp/%n
MailProg=/bin/true
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
$(if ((gpus > 0)); then echo GresTypes=gpu; fi)
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/log/jobcomp.log
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=2
ReturnToService=2
KillWait=10
KillOnBadExit=1
SlurmdTimeout=$silence_s
MessageTimeout=$((silence_s / 3))
InactiveLimit=0
MinJobAge=3600
$(node_lines)
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
END
}
