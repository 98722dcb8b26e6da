# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What MPIs need to be told on a workstation or in a container. Sourced after common.sh.

# settle_mpi RANKS: lets mpirun work as root, and with more ranks than cores: Open MPI 4 (OMPI), 5 (PRTE) and MPICH (MPIR),
# each of which ignores what is the others'.
settle_mpi() {
  if [[ $(id -u) == 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  if (($1 > $(nproc))); then
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
    export OMPI_MCA_mpi_yield_when_idle=1
    export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
    export MPIR_CVAR_ENABLE_HEAVY_YIELD=1 MPIR_CVAR_CH4_PROGRESS_THROTTLE=1 MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=1
  fi
}
