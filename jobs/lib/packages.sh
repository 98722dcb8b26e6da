# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # common.sh sets tally_root
# System packages: what of jobs/packages-debian.txt is missing, and how to get it. Sourced after common.sh.

package_table=$tally_root/jobs/packages-debian.txt

# Folders besides the compiler's own in which modules, spack and conda leave libraries.
library_roots() {
  local name
  for name in HDF5_ROOT HDF5_DIR BOOST_ROOT OPENSSL_ROOT_DIR CONDA_PREFIX; do
    if [[ -n ${!name:-} ]]; then printf '%s\n' "${!name}"; fi
  done
  tr ';:' '\n' <<<"${CMAKE_PREFIX_PATH:-}"
}

# preprocess ARGUMENTS…: the C++ preprocessor over stdin.
preprocess() { "${CXX:-c++}" -std=c++20 -E -P -x c++ "$@" - 2>/dev/null; }

have_compiler() {
  local gnu clang
  read -r gnu clang < <(preprocess <<<'__GNUC__ __clang_major__') || return 1
  if [[ $clang =~ ^[0-9]+$ ]]; then ((clang >= 15)); else ((gnu >= $1)); fi
}

have_program() {
  local names=${1%%:*} least='' name found
  if [[ $1 == *:* ]]; then least=${1#*:}; fi
  for name in ${names//,/ }; do
    command -v "$name" >/dev/null || continue
    if [[ -z $least ]]; then return 0; fi
    [[ $("$name" --version 2>&1) =~ [0-9]+(\.[0-9]+)+ ]] || continue
    found=${BASH_REMATCH[0]}
    if printf '%s\n' "$least" "$found" | sort --check=quiet --version-sort; then return 0; fi
  done
  return 1
}

have_header() {
  local root
  local -a places=(-I/usr/include/hdf5/serial)
  while read -r root; do
    if [[ -n $root ]]; then places+=("-I$root/include"); fi
  done < <(library_roots)
  [[ $(printf "#if __has_include(<%s>)\nyes\n#endif\n" "$1" |
    preprocess "${places[@]}") == yes ]]
}

# Whether programs can be linked with it, and so also load it by that name.
have_library() { "${CXX:-c++}" -x c++ - "-l$1" -o /dev/null <<<'int main() {}' 2>/dev/null; }

have() {
  local argument=${1#*:}
  case $1 in
    compiler:*) have_compiler "$argument" ;;
    program:*) have_program "$argument" ;;
    header:*) have_header "$argument" ;;
    library:*) have_library "$argument" ;;
    venv) environment_is_ready || base_python >/dev/null ;;
    *) die 9 "'$package_table' has an unknown need '$1'." ;;
  esac
}

# missing_packages GROUP: the table's rows of this group whose need is not met.
missing_packages() {
  local package group need others
  while read -r package group need others; do
    if [[ $group == "$1" ]] && ! have "$need"; then echo "$package $group $need $others"; fi
  done < <(grep -v '^#' "$package_table")
}

# column N ROWS: one column of such rows, without doubles and blanks, in one line.
column() { awk -v n="$1" '$n != "-" && NF && !seen[$n]++ { printf "%s%s", sep, $n; sep = " " }' <<<"$2"; }

# How to run a command as root here: "sudo", "", or failure.
root_prefix() {
  if [[ $(id -u) == 0 ]]; then return 0; fi
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null || [[ -t 0 ]] || return 1
  echo sudo
}

# explain_missing ROWS WHY: what is missing, and how one gets it without us.
explain_missing() {
  local rows=$1 package need
  {
    echo "missing on this machine:"
    while read -r package _ need _; do
      printf '  %-46s Debian package %s\n' "${need/:/ }" "$package"
    done <<<"$rows"
    if [[ $rows == *compiler:* ]]; then echo "  (headers could not be looked for without a compiler)"; fi
    echo "On Debian or Ubuntu, an administrator runs:"
    echo "  apt-get install --no-install-recommends $(column 1 "$rows")"
    echo "On a cluster, use what your site has, then run this again:"
    echo "  module load $(column 6 "$rows")      # names differ: see 'module avail'"
    echo "  spack install $(column 5 "$rows"); spack load $(column 5 "$rows")"
    echo "  conda create --name tally --channel conda-forge $(conda_names "$rows"); conda activate tally"
  } >&2
  die 5 "$(grep -c . <<<"$rows") thing(s) that Tally needs are missing ($(column 1 "$rows")) and $2."
}

# '>' and '=' of conda's versions would mean something to the user's shell.
conda_names() { column 4 "$1" | sed -E "s/[^ ]*[<>=][^ ]*/'&'/g"; }

# ensure_packages POLICY GROUP…: installs what is missing of these groups. POLICY: install or check.
ensure_packages() {
  local policy=$1 group prefix rows='' wishes
  shift
  for group in "$@"; do rows+=$(missing_packages "$group")$'\n'; done
  rows=$(sed '/^$/d' <<<"$rows")
  wishes=$(missing_packages wish)
  if [[ -z $rows$wishes ]]; then return 0; fi

  local obstacle=''
  if [[ $policy == check ]]; then
    obstacle="--no-install was given"
  elif ! command -v apt-get >/dev/null; then
    obstacle="there is no apt-get here"
  elif ! prefix=$(root_prefix); then
    obstacle="we are neither root nor allowed to use sudo"
  fi
  if [[ -n $obstacle ]]; then
    if [[ -n $rows ]]; then explain_missing "$rows" "$obstacle"; fi
    say "without $(column 1 "$wishes") builds or networks take longer; going on"
    return 0
  fi
  if [[ -z $rows ]]; then
    (apt_install "$prefix" "$(column 1 "$wishes")") || say "going on without it"
    return 0
  fi
  apt_install "$prefix" "$(column 1 "$rows"$'\n'"$wishes")"
  rows=$(for group in "$@"; do missing_packages "$group"; done)
  if [[ -n $rows ]]; then explain_missing "$rows" "this distribution's packages do not provide them"; fi
}

apt_install() {
  local -a apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  local -a packages
  if [[ -n $1 ]]; then apt=("$1" "${apt[@]}"); fi
  read -ra packages <<<"$2"
  say "installing Debian packages: ${packages[*]}"
  quietly "apt-get update" "${apt[@]}" update
  quietly "apt-get install" "${apt[@]}" install --no-install-recommends "${packages[@]}"
}
