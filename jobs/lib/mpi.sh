# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What Open MPI needs to be told on a workstation or in a container. Sourced after common.sh.

# settle_mpi RANKS: lets mpirun work as root, and with more ranks than cores. Other MPIs ignore these.
settle_mpi() {
  if [[ $(id -u) == 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  if (($1 > $(nproc))); then
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
    export OMPI_MCA_mpi_yield_when_idle=1
  fi
}
