# shellcheck shell=bash disable=SC2154 # common.sh sets tally_root
# A CUDA compiler, where the machine has none: NVIDIA's Python packages, in the environment beside torch.
# Sourced after python_env.sh.

# ensure_cuda_compiler POLICY PRESET: POLICY is install or check; that preset is then configured anew.
ensure_cuda_compiler() {
  local dir toolkit
  if command -v nvcc >/dev/null || [[ -n ${CUDACXX:-} ]]; then return 0; fi
  dir=$(environment_dir)
  toolkit=$("$dir/bin/python" -I -c \
    'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')/../nvidia/cu13
  if [[ -x $toolkit/bin/nvcc ]]; then return 0; fi
  [[ $1 == install ]] || die 5 "there is no nvcc, and --no-install was given."
  say "installing the CUDA compiler into '$dir'"
  quietly "pip install" "$dir/bin/python" -I -m pip install --no-input --disable-pip-version-check \
    --no-deps --requirement "$tally_root/jobs/requirements-cuda.txt"
  # What CMake looks for in a toolkit.
  ln -sfn lib "$toolkit/lib64"
  ln -sfn libcudart.so.13 "$toolkit/lib/libcudart.so"
  rm -f "$(build_dir "$2")/build.ninja"
}
