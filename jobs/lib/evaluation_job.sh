# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # the scripts that source this set script_name, tally and launcher
# What the jobs that evaluate have in common: one start of `tally evaluate` in an allocation, which goes on
# from the progress of the start before, and has Slurm start the job again where time ran out.

die() {
  printf '%s: error[%d] %s\n' "$script_name" "$@" >&2
  exit "$1"
}

say() { printf '%s: %s\n' "$script_name" "$*"; }

require_job() {
  [[ -n ${SLURM_JOB_ID:-} ]] || die 2 "this runs inside a job. Submit it: sbatch $0 --model FILE --data FILE"
  (($# > 0)) || die 2 "nothing to evaluate. Give the options of 'tally evaluate': --model FILE --data FILE"
  job=$SLURM_JOB_ID
  # One task of an array has the number of the whole array.
  [[ -z ${SLURM_ARRAY_TASK_ID:-} ]] || job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
}

require_launcher() {
  command -v "$tally" >/dev/null || die 5 "there is no program '$tally'. Load its module, or set TALLY_BIN."
  if [[ -n $launcher ]]; then
    return
  elif [[ $(srun --mpi=list 2>&1) == *pmix* ]]; then
    launcher="srun --mpi=pmix"
  elif command -v mpirun >/dev/null; then
    launcher=mpirun
  else
    die 5 "Slurm has no PMIx and there is no mpirun. Set LAUNCHER; 'srun --mpi=list' lists what Slurm has."
  fi
}

set_up_srun() {
  export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1} # srun no longer takes it from the job by itself
  # Ranks that fail leave together with one exit code, which killing at the first of them would replace by
  # 143. Where one is lost and its MPI does not notice, the others end this many seconds later.
  export SLURM_KILL_BAD_EXIT=0 SLURM_WAIT=10
  # Open MPI's ranks meet in barriers of Slurm's as they start. Those of the default kind ("mixed") let ranks
  # go before others have come (Slurm 22.05), and a message that then comes too early ends one with SIGSEGV.
  export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring}
}

# given NAME ARGUMENT…: what a user gives for an option, on the command line, else in the environment. A flag that
# stands alone is "true"; the next word is its value unless that is an option.
given() {
  local name=$1 variable=TALLY_${1^^} value=''
  variable=${variable//-/_}
  shift
  while (($# > 0)); do
    case $1 in
      "--$name="*) value=${1#*=} ;;
      "--$name") if [[ -z ${2:-} || $2 == --* ]]; then value=true; else value=$2; fi ;;
    esac
    shift
  done
  printf '%s\n' "${value:-${!variable:-}}"
}

# setting NAME ARGUMENT…: what tally takes for an option: what is given, else what the file has that --config names.
setting() {
  local name=$1 value config
  value=$(given "$@")
  config=$(given config "${@:2}")
  if [[ -z $value && -r $config ]]; then
    value=$(sed -n "s/#.*//; s/^[[:space:]]*${name}[[:space:]]*=[[:space:]]*//p" "$config" | sed 's/[[:space:]]*$//')
  fi
  printf '%s\n' "$value"
}

is_set() { [[ $(setting "$@") =~ ^(true|yes|on|1)$ ]]; }

# A file may be the `config` of a report, which has every option: "resume = false" there is nobody's wish.
may_resume() { ! [[ $(given resume "$@") =~ ^(false|no|off|0)$ ]]; }

# stamps FILE…: which files there are, and a new text whenever one was written.
stamps() { stat --format='%n %i %s %.9Y' -- "$@" 2>/dev/null || true; }
progress_stamps() { stamps "$output"/progress/*; }
has_progress() { [[ -n $(progress_stamps) ]]; }

# drop_flag NAME: takes an on/off option, and the value behind it, out of arguments.
drop_flag() {
  local -a all=("${arguments[@]}")
  local i
  arguments=()
  for ((i = 0; i < ${#all[@]}; ++i)); do
    case ${all[i]} in
      "--$1="*) ;;
      "--$1") if ((i + 1 < ${#all[@]})) && [[ ${all[i + 1]} != --* ]]; then ((++i)); fi ;;
      *) arguments+=("${all[i]}") ;;
    esac
  done
}

# Fills in without: " without" and the options that keep another job from going on, if there are any.
choose_hint() {
  local options=''
  if is_set overwrite "$@"; then options=' --overwrite'; fi
  if ! may_resume "$@"; then options+="${options:+ and} --resume=false"; fi
  without=${options:+ without$options}
}

# Fills in output, where the result goes to, and arguments: the user's, and those with which a start goes on
# from the one before, be it of this job or another. A result that is to be replaced is replaced anew unless there is progress.
choose_arguments() {
  arguments=("$@")
  output=$(setting output "$@")
  if [[ -z $output ]]; then
    output=tally-$job # the same at every start of a job
    arguments+=(--output "$output")
  fi
  choose_hint "$@"
  if ! may_resume "$@"; then return; fi
  if is_set overwrite "$@"; then
    if ((${SLURM_RESTART_COUNT:-0} == 0)) || ! has_progress; then return; fi
    drop_flag overwrite
    arguments=(--overwrite=false "${arguments[@]}")
  fi
  # Where nothing is there yet, --resume would be worth a note in the report.
  if [[ -e $output && -z $(given resume "$@") ]]; then arguments+=(--resume); fi
}

# Slurm's warning before the time limit, SIGUSR1, asks the ranks to stop. SIGTERM they have from Slurm too,
# unless a user has sent it to this script alone; one that comes after SIGUSR1 would end them at once.
pass_on() {
  signals+=" $1"
  if [[ -z $launched ]] || [[ $1 == TERM && $(job_state) != RUNNING* ]]; then return 0; fi
  kill -USR1 "$launched" 2>/dev/null || true
}

is_running() { kill -0 "$launched" 2>/dev/null; }

# Waits for the launcher and fills in code. What ends this script at a time limit comes some seconds after
# SIGTERM, and there must be time left to requeue the job.
await_launcher() {
  local before='?' deadline
  while [[ $signals != "$before" && $signals != *TERM* ]]; do # a signal ends `wait`
    before=$signals code=0
    wait "$launched" || code=$?
  done
  [[ $signals == *TERM* ]] || return 0
  deadline=$((SECONDS + 5))
  while is_running && ((SECONDS < deadline)); do
    sleep 0.2 || true # Slurm's SIGTERM ends this as well
  done
  if is_running && [[ $(job_state) == *TimeLimit ]]; then return; fi
  before='?'
  while [[ $signals != "$before" ]]; do
    before=$signals code=0
    wait "$launched" || code=$?
  done
}

# The signals of a time limit go to all processes of a job.
shielded() { (trap '' TERM USR1 && "$@"); }

# State and reason, as "RUNNING None". One whose time is up is "COMPLETING TimeLimit", one that was cancelled
# "COMPLETING None".
job_state() { shielded squeue --noheader --jobs="$job" --format='%T %r' || true; }

# What the run says of its failure. A launcher may have only a signal's code to give, and MPICH's gives that as a
# bare number (9 for SIGKILL) and joins the codes of several ranks by "or" (3 and 4 to 7).
take_code_of_failure() {
  local file=$1 before=$2 found
  if ((code == 0)) || [[ ! -r $file || $(stamps "$file") == "$before" ]]; then return; fi
  found=$(sed -n 's/^ *"code": *\([0-9]*\),*$/\1/p' "$file")
  [[ -z $found ]] || code=$found
}

is_own_failure() { ((code >= 2 && code <= 9)); }

# Has Slurm start this job again if time ran out, if it may go on, and if this start has kept more than the one before.
requeue_unfinished() {
  local before=$1 state again="Submit it again$without to go on from '$output'."
  if ((code != 75)) && [[ -z $signals && $(job_state) != *TimeLimit ]]; then return; fi
  has_progress || return 0
  code=75
  state=$(job_state)
  if [[ $state != RUNNING* && $state != *TimeLimit ]]; then
    again="started again"
    [[ -z $without ]] || again="submitted again$without"
    say "stopped. What was evaluated is kept in '$output'; the job goes on from there when it is $again."
  elif [[ ${TALLY_REQUEUE:-1} == 0 ]]; then
    say "out of time, and job $job is not requeued (TALLY_REQUEUE=0). $again"
  elif ! may_resume "${arguments[@]}"; then
    say "out of time, and job $job is not requeued (--resume=false). $again"
  elif [[ $(progress_stamps) == "$before" ]]; then
    say "out of time, and nothing more was evaluated than before this start: job $job is not requeued." \
      "Give it more time${without:+, and submit it again$without}."
  elif shielded scontrol requeue "$job"; then
    say "out of time. What was evaluated is kept in '$output', and job $job is requeued to go on."
  else
    say "out of time, and Slurm does not requeue job $job. $again"
  fi
}

# evaluate ARGUMENT…: ends this script.
evaluate() {
  local output without='' code=0 launched='' signals='' error_file
  local -a arguments
  trap 'pass_on USR1' USR1
  trap 'pass_on TERM' TERM
  choose_arguments "$@"
  error_file=$(realpath --no-symlinks --canonicalize-missing "$output").error.json
  local report_before error_before progress_before
  report_before=$(stamps "$output/report.json")
  error_before=$(stamps "$error_file")
  progress_before=$(progress_stamps)
  echo "job $SLURM_JOB_ID on $SLURM_JOB_NODELIST: $launcher $tally evaluate ${arguments[*]}"
  # shellcheck disable=SC2086 # the launcher is several words
  $launcher "$tally" evaluate "${arguments[@]}" &
  launched=$!
  await_launcher
  take_code_of_failure "$error_file" "$error_before"
  is_own_failure && exit "$code"
  # The folder says what there is: a launcher that is ended has a code of its own.
  if [[ $(stamps "$output/report.json") != "$report_before" ]]; then exit 0; fi
  ((code == 0)) || requeue_unfinished "$progress_before"
  exit "$code"
}
