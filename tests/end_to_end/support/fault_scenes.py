# SPDX-License-Identifier: Apache-2.0
"""What the rows of the fault matrix are made of: each scene makes a fault, looks at the end of the run, and returns its code."""

import errno
import fcntl
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import odd_models
import small
from corrupt import BAD_DATA
from fault_site import ENDS_WITHIN_S, STALLED, STOPPED, Site, send
from launchers import on_rank, with_variables

HANG = -4  # tests/support/faults/fault_points.h
ENOTSUPP = 524
STRUCK_ENDS_WITHIN_S = 25  # of a rank that is lost or stopped: 15 on an idle machine
LIMIT_S = 1  # --stall-limit
LOST = 128 + signal.SIGKILL
Scene = Callable[[Site], int | None]


def killed(site: Site) -> int:
    job, pids = site.start_slow()
    os.kill(pids[site.last], signal.SIGKILL)
    run = job.end(STRUCK_ENDS_WITHIN_S)
    assert run.code == LOST, f"exit {run.code}: {run.stderr}"
    # Where the launcher lets the others go on (srun), they miss it, and say so.
    assert run.errors == [] or (len(run.errors) == 1 and site.named(site.last) in run.errors[0]), run.stderr
    site.check_left("maybe progress")
    site.must_resume()
    return run.code


def throwing_model(site: Site) -> int:
    data, model = site.inputs.folder / "bright.h5", site.inputs.folder / "raising.pt"
    run = site.run(site.words(data=data, model=model))
    return site.must_fail(run, 4, "raising.pt", "a bright sample", site.named(site.last), left=site.in_the_loop)


def no_memory(site: Site) -> int:
    usual = site.words()
    struck = with_variables(site.faults("/", "memory", 12, errno.ENOMEM, site.last), usual)
    return site.must_fail(site.run(on_rank(site.last, struck, usual)), 5, "memory", site.named(site.last))


def stopped(site: Site) -> int | None:
    """Nobody is left to miss the only rank."""
    if site.ranks == 1:
        return None
    job, pids = site.start_slow("--stall-limit", LIMIT_S)
    os.kill(pids[site.last], signal.SIGSTOP)
    run = job.end(LIMIT_S + STRUCK_ENDS_WITHIN_S)
    return site.must_fail(run, STALLED, site.named(site.last), "it has given no sign", "--stall-limit",
                          left="maybe progress", also=(LOST,) if site.launcher.name == "srun" else ())  # fmt: skip


def hanging_read(site: Site) -> int:
    usual = site.words("--stall-limit", LIMIT_S)
    struck = with_variables(site.faults(site.inputs.data, "reads", 5, HANG, site.last), usual)
    run = site.run(on_rank(site.last, struck, usual))
    return site.must_fail(run, STALLED, site.named(site.last), "set.h5", left=site.in_the_loop,
                          also=(LOST,) if site.launcher.name == "srun" else ())  # fmt: skip


def straggler(site: Site) -> int:
    data = site.inputs.folder / f"bright-end-{site.ranks}.h5"
    words = ("--model", site.inputs.folder / "uneven.pt", "--data", data, "--batch-size", 1, "--stall-limit", 2)
    run = site.run(site.command(*words), 2 * ENDS_WITHIN_S)
    assert run.code == 0 and not run.errors, f"exit {run.code}: {run.stderr}"
    warned = re.findall(r"warning: rank (\d+) is slow: so far it takes", run.stderr)
    expected = [str(site.last)] if site.ranks > 1 else []
    assert [rank for rank in warned if rank in expected] == expected, f"ranks {warned} were named: {run.stderr}"
    return run.code


def bad_data(name: str) -> Scene:
    def scene(site: Site) -> int:
        path = site.folder / f"{name}.h5"
        BAD_DATA[name].make(site.inputs.data, path)
        return site.must_fail(site.run(site.words(data=path)), 3, path.name, *BAD_DATA[name].texts,
                              left=site.in_the_loop)  # fmt: skip

    scene.__qualname__ = name
    return scene


def bad_model(name: str) -> Scene:
    def scene(site: Site) -> int:
        path = site.folder / f"{name}.pt"
        odd_models.BAD_MODELS[name].make(path)
        return site.must_fail(site.run(site.words(model=path)), 4, path.name, *odd_models.BAD_MODELS[name].texts)

    scene.__qualname__ = name
    return scene


def not_finite(site: Site) -> int:
    run = site.run(site.words(data=site.inputs.folder / "bright.h5", model=site.inputs.folder / "marking.pt"))
    return site.must_fail(run, 7, "holds NaN or Inf for 1 sample: 102.", "--on-nan wrong", left=site.in_the_loop)


def cut_short(site: Site) -> int:
    path = site.folder / "short.h5"
    whole = site.inputs.data.read_bytes()
    path.write_bytes(whole[:-100])
    run = site.run(site.words(data=path))
    return site.must_fail(run, 3, "short.h5", str(len(whole)), str(len(whole) - 100))


def no_locks(error: int) -> Scene:
    def scene(site: Site) -> int:
        variables = {"FAULT_POINTS_LOCKS": error, "LD_PRELOAD": site.preload}
        return site.must_be_whole(site.run(with_variables(variables, site.words())), "set")

    scene.__qualname__ = f"no_locks, {os.strerror(error)}"
    return scene


def locked_data(site: Site) -> int:
    with site.inputs.data.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return site.must_be_whole(site.run(site.words()), "set")


def no_gpu(site: Site) -> int:
    return site.must_fail(site.run(site.words("--device", "cuda")), 5, "--device", "GPU")


def too_few_gpus(site: Site) -> int | None:
    if site.ranks == 1:
        return None
    words = ["env", f"TALLY_SIMULATED_GPUS={site.ranks - 1}", site.tests / "simulated_gpu/tally_on_simulated_gpu",
             *site.words("--device", "cuda", "--cuda-graphs", "off")[1:]]  # fmt: skip
    run = site.run(words, one_node=True)
    return site.must_fail(run, 5, f"{site.ranks} ranks on ", f"found {site.ranks - 1} GPU")


def passing(program: str, tests: str, least_ranks: int = 1, code: int = 0) -> Scene:
    """Of a test program; `code` is what they see."""

    def scene(site: Site) -> int | None:
        if site.ranks < least_ranks:
            return None
        run = site.run([site.tests / program, f"--gtest_filter={tests}"], one_node=True)
        assert run.code == 0 and "[  PASSED  ]" in run.stdout, f"exit {run.code}: {run.stdout}{run.stderr}"
        assert "[  PASSED  ] 0 tests" not in run.stdout, run.stdout
        return code

    return scene


def silent_nccl(how: str) -> Scene:
    def scene(site: Site) -> int | None:
        if site.ranks == 1:
            return None  # it has no use for NCCL
        run = site.run([site.tests / "comm/nccl_canary", how], one_node=True)
        assert run.code == STALLED and len(run.errors) == 1, f"exit {run.code}: {run.stderr}"
        assert "NCCL: " in run.errors[0] and "120 s" in run.errors[0], run.errors[0]
        return run.code

    return scene


def failing_disk(letter: str, error: int) -> Scene:
    """At the last write to a file, or the last sync, of rank 0."""

    def scene(site: Site) -> int:
        usual, passed = site.words(), site.folder / "passed"
        counted = {**site.faults(f"{site.output.parent}/", "files", 0, 0), "FAULT_POINTS_PASSED": passed}
        site.must_be_whole(site.run(on_rank(0, with_variables(counted, usual), usual)), "set")
        at = passed.read_text().rindex(letter) + 1
        site.clear()
        struck = with_variables(site.faults(f"{site.output.parent}/", "files", at, error), usual)
        run = site.run(on_rank(0, struck, usual))
        return site.must_fail(run, 6, str(site.output), os.strerror(error), left="maybe progress")

    scene.__qualname__ = f"failing_disk, {os.strerror(error)}"
    return scene


def asked_to_stop(site: Site) -> int:
    """The launcher sends it on to its ranks."""
    job, _ = site.start_slow()
    job.process.send_signal(signal.SIGUSR1)
    run = job.end(STRUCK_ENDS_WITHIN_S)
    assert run.code == STOPPED and not run.errors, f"exit {run.code}: {run.stderr}"
    site.check_left("progress")
    site.must_resume()
    return run.code


def a_rank_is_asked(site: Site) -> int:
    job, pids = site.start_slow()
    send(pids[site.last], signal.SIGTERM)
    run = job.end(STRUCK_ENDS_WITHIN_S)
    assert run.code == STOPPED and not run.errors, f"exit {run.code}: {run.stderr}"
    site.check_left("progress")
    return run.code


def one_sample(site: Site) -> int | None:
    run = site.run(site.words(data=site.inputs.folder / "one.h5"))
    return site.must_be_whole(run, "one")


def earlier_result(site: Site) -> int:
    site.output.mkdir(parents=True)
    (site.output / "report.json").write_text("an earlier result")
    run = site.run(site.words())
    assert run.code == 6 and len(run.errors) == 1 and "--overwrite" in run.errors[0], f"exit {run.code}: {run.stderr}"
    assert [path.name for path in site.output.iterdir()] == ["report.json"]
    assert (site.output / "report.json").read_text() == "an earlier result"
    return run.code


def busy_output(site: Site) -> int:
    site.output.parent.mkdir()
    first = site.program.start([str(word) for word in site.slow_words("--checkpoint-every", 0.05)])
    try:
        deadline = time.monotonic() + ENDS_WITHIN_S
        while not any((site.output / "progress").glob("*.state")):  # before its loop a signal would end it
            assert time.monotonic() < deadline and first.poll() is None, "the first run does not begin"
            time.sleep(0.01)
        first.send_signal(signal.SIGSTOP)  # it has to be there when the second one comes
        run = site.run(site.words("--overwrite"))
        first.send_signal(signal.SIGCONT)
        first.send_signal(signal.SIGTERM)
        assert first.wait(ENDS_WITHIN_S) == STOPPED, "the first run was disturbed"
    finally:
        first.kill()
        first.communicate()
    return site.must_fail(run, 6, "in use by another run", str(site.output), left="progress")


def segmentation_fault(site: Site) -> int:
    job, pids = site.start_slow()
    os.kill(pids[site.last], signal.SIGSEGV)
    run = job.end(STRUCK_ENDS_WITHIN_S)
    return site.must_fail(run, 128 + signal.SIGSEGV, site.named(site.last), "signal SIGSEGV", left="maybe progress",
                          missed=site.named(site.last))  # fmt: skip


def clock_set_back(site: Site) -> int:
    usual = site.words()
    struck = with_variables(site.faults("/", "clock", 40, errno.EPERM, site.last), usual)
    return site.must_be_whole(site.run(on_rank(site.last, struck, usual)), "set")


def full_shared_memory(site: Site) -> int:
    with site.launcher.without_shared_memory() as before:
        run = site.run(site.words(), before=before)
    if run.code == 0:
        return site.must_be_whole(run, "set")
    return site.must_fail(run, 5, "/dev/shm")


def other_options(site: Site) -> int | None:
    if site.ranks == 1:
        return None
    run = site.run(on_rank(site.last, site.words("--metrics", "accuracy"), site.words()))
    return site.must_fail(run, 2, "differs", f"rank {site.last}")


def other_build(site: Site) -> int | None:
    if site.ranks == 1:
        return None
    other, program = site.folder / "tally", bytearray(site.program.binary.read_bytes())
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # lengths of the owner and the bytes, NT_GNU_BUILD_ID, the owner
    program[program.index(note) + len(note)] ^= 1
    other.write_bytes(program)
    other.chmod(0o755)
    run = site.run(on_rank(site.last, [other, *site.words()[1:]], site.words()))
    return site.must_fail(run, 2, "the program or its settings differs", f"rank {site.last} (")


def other_data(site: Site) -> int | None:
    """A file of the same name, of which each node has its own."""
    if site.ranks == 1:
        return None
    places = [site.folder / "here", site.folder / "there"]
    for seed, place in enumerate(places):
        place.mkdir()
        small.make_set(20, seed=seed).write(place / "val.h5")
    usual, special = (["env", "-C", place, *site.words(data=Path("val.h5"))] for place in places)
    return site.must_fail(site.run(on_rank(site.last, special, usual)), 3, "val.h5", "differs")
