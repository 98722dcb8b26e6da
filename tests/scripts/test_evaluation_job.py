# SPDX-License-Identifier: Apache-2.0
"""What the job scripts make of signals, codes and folders, with programs that play Slurm and tally."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

JOBS = Path(__file__).resolve().parents[2] / "jobs"
LIMIT_S = 30
RUNNING, TIME_LIMIT, CANCELLED = "RUNNING None", "COMPLETING TimeLimit", "COMPLETING None"
COMPLETE = "(out / 'report.json').write_text('new')"
# For Slurm's warning, passed on, or its SIGTERM; the mask is older than the sign that signals may come.
WAIT = "(here / 'started').touch(); signal.sigwait({signal.SIGUSR1, signal.SIGTERM})"
KEEP = "(out / 'progress').mkdir(exist_ok=True); (out / 'progress' / f'attempt-{attempt}.records').touch()"
FAIL = """(out.parent / 'run.error.json').write_text('{\\n  "tally_error": 1,\\n  "code": 3,\\n}')"""

PROGRAMS = {
    "srun": 'case $1 in --mpi=list) echo pmix ;; *) shift; exec "$@" ;; esac\n',
    "squeue": 'cat "$HERE/state"\n',
    "scontrol": 'echo "$@" >>"$HERE/asked"\n[[ $1 != show ]] || cat "$HERE/shown"\n[[ ! -e $HERE/refuses ]]\n',
}
TALLY = f"""#!{sys.executable} -IS
import os, signal, sys
from pathlib import Path
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1, signal.SIGTERM}})
here = Path(os.environ["HERE"])
with (here / "starts").open("a") as file:
    print(*sys.argv[1:], file=file)
attempt = len((here / "starts").read_text().splitlines())
out = here / "run"
out.mkdir(exist_ok=True)
exec(os.environ["PLAYS"])
"""


class Machine:
    """A folder with those programs, the result in `run`, and the job scripts on it as job 7."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run_folder = folder / "run"
        self.started: list[subprocess.Popen[str]] = []
        (folder / "bin").mkdir()
        for name, text in {name: f"#!/usr/bin/env bash\n{text}" for name, text in PROGRAMS.items()}.items():
            self.program(name, text)
        self.program("tally", TALLY)
        self.state(RUNNING)

    def program(self, name: str, text: str) -> None:
        (self.folder / "bin" / name).write_text(text)
        (self.folder / "bin" / name).chmod(0o755)

    def state(self, text: str) -> None:
        (self.folder / "state").write_text(text + "\n")

    def start(self, plays: str, *words: object, script: Path = JOBS / "evaluate-cpu.sbatch",
              **variables: object) -> subprocess.Popen[str]:  # fmt: skip
        own = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "TALLY", "LAUNCHER"))}
        given = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HERE": self.folder, "PLAYS": plays,
                 "SLURM_JOB_ID": 7, "SLURM_JOB_NODELIST": "node1", **variables}  # fmt: skip
        (self.folder / "started").unlink(missing_ok=True)
        process = subprocess.Popen(
            ["bash", str(script), *map(str, words)], cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            env=own | {name: str(value) for name, value in given.items()},
        )  # fmt: skip
        self.started.append(process)
        return process

    def end(self, process: subprocess.Popen[str], code: int) -> str:
        output, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == code, output
        return output

    def run(self, code: int, plays: str, *words: object, **options: object) -> str:
        return self.end(self.start(plays, "--output", self.run_folder, *words, **options), code)

    def send(self, name: str, plays: str, code: int, *words: object, **options: object) -> str:
        """Sends a signal once the ranks are at work: to the script, or to all where Slurm ends the job."""
        process = self.start(f"{WAIT}; {plays}", "--output", self.run_folder, *words, **options)
        deadline = time.monotonic() + LIMIT_S
        while not (self.folder / "started").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "tally was not started"
            time.sleep(0.01)
        is_ending = (self.folder / "state").read_text().startswith("COMPLETING")
        (os.killpg if is_ending else os.kill)(process.pid, signal.Signals[name])
        return self.end(process, code)

    @property
    def starts(self) -> list[str]:
        return (self.folder / "starts").read_text().splitlines()

    @property
    def requeued(self) -> list[str]:
        asked = self.folder / "asked"
        lines = asked.read_text().splitlines() if asked.exists() else []
        return [line.split()[1] for line in lines if line.startswith("requeue")]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=LIMIT_S)


def test_each_start_goes_on(machine: Machine) -> None:
    run = machine.run_folder
    for restarts in (0, 1):
        machine.run(0, COMPLETE, "--model", "m m.pt", SLURM_RESTART_COUNT=restarts)
    machine.run(0, COMPLETE, "--resume")
    first = f"evaluate --output {run} --model m m.pt"  # there is nothing yet to go on from
    assert machine.starts == [first, f"{first} --resume", f"evaluate --output {run} --resume"]


@pytest.mark.parametrize("how", ["argument", "variable", "file"])
def test_a_result_is_replaced_once(how: str, machine: Machine) -> None:
    (machine.folder / "config").write_text("# overwrite = false\noverwrite = true # the last one\n")
    words = {"argument": ["--overwrite"], "variable": [], "file": ["--config", machine.folder / "config"]}[how]
    variables = {"TALLY_OVERWRITE": 1} if how == "variable" else {}
    machine.run(0, COMPLETE, *words, **variables)
    machine.run(0, COMPLETE, *words, SLURM_RESTART_COUNT=1, **variables)  # nothing was kept
    machine.run(0, f"{KEEP}; {COMPLETE}", *words, **variables)  # what is there is another run's
    machine.run(0, COMPLETE, *words, SLURM_RESTART_COUNT=1, **variables)
    assert ["--resume" in start for start in machine.starts] == [False, False, False, True]
    others = [] if how == "argument" else words
    last = ["evaluate", "--overwrite=false", "--output", machine.run_folder, *others, "--resume"]
    assert machine.starts[-1] == " ".join(map(str, last))


@pytest.mark.parametrize("words", [["--overwrite", "true"], ["--overwrite=yes"], ["--overwrite", "on", "--resume", "false"]])
def test_values_of_overwrite(words: list[str], machine: Machine) -> None:
    run = machine.run_folder
    machine.run(0, KEEP, *words, "--limit", 1)
    machine.run(0, KEEP, *words, "--limit", 1, SLURM_RESTART_COUNT=1)
    first = f"evaluate --output {run} {' '.join(words)} --limit 1"
    goes_on = f"evaluate --overwrite=false --output {run} --limit 1 --resume"
    assert machine.starts == [first, first if "--resume" in words else goes_on]


def test_a_replacing_job_goes_on_in_its_default_folder(machine: Machine) -> None:
    keep = "(here / 'tally-7' / 'progress').mkdir(parents=True, exist_ok=True); (here / 'tally-7/progress/a').touch()"
    for restarts in (0, 1):
        machine.end(machine.start(keep, "--overwrite", SLURM_RESTART_COUNT=restarts), 0)
    assert machine.starts[1] == "evaluate --overwrite=false --output tally-7 --resume"


@pytest.mark.parametrize(
    "words", [["--overwrite", "false"], ["--overwrite=false"], ["--resume", "true"], ["--resume=1"], ["--resume=false"],
              ["--resume", "off"]])  # fmt: skip
def test_values_of_a_user_stand(words: list[str], machine: Machine) -> None:
    for restarts in (0, 1):
        machine.run(0, KEEP, *words, SLURM_RESTART_COUNT=restarts)
    given = f"evaluate --output {machine.run_folder} {' '.join(words)}"
    assert machine.starts == [given, f"{given} --resume" if "overwrite" in words[0] else given]


def test_where_resume_is_refused(machine: Machine) -> None:
    machine.run_folder.mkdir()
    machine.run(0, "pass", TALLY_RESUME=0)
    (machine.folder / "config").write_text("resume = false\n")  # as every `config` of a report
    machine.run(0, "pass", "--config", machine.folder / "config")
    assert ["--resume" in start for start in machine.starts] == [False, True]
    output = machine.send("SIGUSR1", f"{KEEP}; sys.exit(75)", 75, "--overwrite", "--resume=false")
    assert f"Submit it again without --overwrite and --resume=false to go on from '{machine.run_folder}'." in output
    assert machine.requeued == []


def test_names_of_results(machine: Machine) -> None:
    (machine.folder / "there").mkdir()

    def start(*words: object, **variables: object) -> str:
        machine.end(machine.start("pass", "--limit", 1, *words, **variables), 0)
        return machine.starts[-1]

    assert start() == "evaluate --limit 1 --output tally-7"
    assert start(SLURM_ARRAY_JOB_ID=5, SLURM_ARRAY_TASK_ID=2) == "evaluate --limit 1 --output tally-5_2"
    assert start(TALLY_OUTPUT="there") == "evaluate --limit 1 --resume"
    (machine.folder / "config").write_text("batch-size = 3\noutput = there\n")
    assert start("--config=config") == "evaluate --limit 1 --config=config --resume"
    assert start("--output=there") == "evaluate --limit 1 --output=there --resume"


def test_a_warning_stops_the_ranks_and_requeues_the_job(machine: Machine) -> None:
    output = machine.send("SIGUSR1", f"{KEEP}; sys.exit(75)", 75)
    assert "job 7 is requeued to go on" in output
    output = machine.send("SIGUSR1", f"{KEEP}; sys.exit(75)", 75, SLURM_RESTART_COUNT=1)
    assert machine.requeued == ["7", "7"]
    # The third start ends before its first batch.
    output = machine.send("SIGUSR1", "sys.exit(75)", 75, SLURM_RESTART_COUNT=2)
    assert "job 7 is not requeued. Give it more time." in output
    assert machine.requeued == ["7", "7"]


def test_a_task_of_an_array_requeues_itself_alone(machine: Machine) -> None:
    machine.send("SIGUSR1", f"{KEEP}; sys.exit(75)", 75, SLURM_ARRAY_JOB_ID=5, SLURM_ARRAY_TASK_ID=2)
    assert machine.requeued == ["5_2"]


def test_a_job_is_not_requeued_where_that_is_not_wanted(machine: Machine) -> None:
    assert "TALLY_REQUEUE=0" in machine.send("SIGUSR1", f"{KEEP}; sys.exit(75)", 75, TALLY_REQUEUE=0)
    assert machine.requeued == []
    (machine.folder / "refuses").touch()
    assert "Slurm does not requeue job 7" in machine.send("SIGUSR1", f"{KEEP}; sys.exit(75)", 75)


def test_what_a_replacing_job_is_submitted_with_to_go_on(machine: Machine) -> None:
    def say(*, starts: int = 0, keep: str = KEEP, **variables: object) -> str:
        given = {"SLURM_RESTART_COUNT": starts, **variables}
        return machine.send("SIGUSR1", f"{keep}; sys.exit(75)", 75, "--overwrite=true", **given)

    hint = f"Submit it again without --overwrite to go on from '{machine.run_folder}'."
    assert hint in say(TALLY_REQUEUE=0)
    assert "Give it more time, and submit it again without --overwrite." in say(starts=1, keep="pass")
    (machine.folder / "refuses").touch()
    assert hint in say(starts=1)
    machine.state(CANCELLED)
    assert "goes on from there when it is submitted again without --overwrite." in say()


@pytest.mark.parametrize(("state", "requeued"), [(TIME_LIMIT, ["7"]), (CANCELLED, []), (RUNNING, ["7"])])
def test_sigterm(state: str, requeued: list[str], machine: Machine) -> None:
    """Open MPI's launcher has a code of its own then."""
    machine.state(state)
    machine.send("SIGTERM", f"{KEEP}; sys.exit(1)", 75)
    assert machine.requeued == requeued


def test_a_job_is_requeued_in_time_though_ranks_go_on(machine: Machine) -> None:
    machine.state(TIME_LIMIT)
    go_on = f"{KEEP}; os.close(1); os.close(2); signal.sigwait({{signal.SIGUSR2}})"
    assert "requeued" in machine.send("SIGTERM", f"(here / 'pid').write_text(str(os.getpid())); {go_on}", 75)
    assert machine.requeued == ["7"]
    os.kill(int((machine.folder / "pid").read_text()), signal.SIGKILL)


def test_the_time_limit_may_end_the_launcher_first(machine: Machine) -> None:
    machine.state(TIME_LIMIT)
    machine.run(75, f"{KEEP}; sys.exit(143)")
    assert machine.requeued == ["7"]


def test_the_folder_says_whether_a_result_is_complete(machine: Machine) -> None:
    machine.send("SIGTERM", f"{COMPLETE}; sys.exit(1)", 0)
    machine.run(1, "sys.exit(1)", "--overwrite")  # that result is an earlier one
    machine.run(6, f"{COMPLETE}; sys.exit(6)", "--overwrite")  # the table on standard output was lost
    machine.run(0, "pass")
    assert machine.requeued == []


def test_codes_of_failures(machine: Machine) -> None:
    machine.run(3, f"{FAIL}; sys.exit(137)")
    machine.run(137, "sys.exit(137)")  # the file is from the run before
    machine.run(3, f"{FAIL}; sys.exit(9)")  # MPICH: a rank got SIGKILL
    machine.run(3, f"{FAIL}; sys.exit(7)")  # MPICH: codes 3 and 4 of two ranks
    machine.run(4, "sys.exit(4)")
    machine.run(0, f"{FAIL}; {COMPLETE}")
    machine.run(3, f"{KEEP}; {FAIL}; sys.exit(143)")
    machine.run(137, f"{KEEP}; sys.exit(137)")  # a rank was lost
    machine.run(2, "sys.exit(2)")
    assert machine.requeued == []


def test_the_file_of_a_failure_lies_beside_the_folder(machine: Machine) -> None:
    machine.end(machine.start(f"{FAIL}; sys.exit(137)", "--output", f"{machine.run_folder}//"), 3)


def test_where_slurm_runs_a_copy(machine: Machine) -> None:
    original = machine.folder / "my jobs" / "evaluate-cpu.sbatch"
    original.parent.mkdir()
    copy = Path(shutil.copy(JOBS / "evaluate-cpu.sbatch", machine.folder / "slurm_script"))
    (machine.folder / "shown").write_text(f"JobId=7\n   Command={original} --limit 1\n   WorkDir=/\n")

    def run(code: int) -> str:
        return machine.end(machine.start("pass", "--limit", 1, script=copy), code)

    assert "evaluate-cpu: error[5] no lib/evaluation_job.sh" in run(5)
    for home in (machine.folder / "share" / "tally" / "jobs", original.parent):
        shutil.copytree(JOBS / "lib", home / "lib")
        run(0)
        shutil.rmtree(home / "lib")
