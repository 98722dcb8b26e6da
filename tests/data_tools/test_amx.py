# SPDX-License-Identifier: Apache-2.0
"""How the tests find out that PyTorch would die of AMX."""

import os
import signal
from pathlib import Path

import amx
import pytest


def killed_by(number: signal.Signals) -> str:
    return f"import signal; signal.raise_signal({int(number)})"


def test_only_an_illegal_instruction_counts() -> None:
    assert amx.dies(killed_by(signal.SIGILL))
    for program in (killed_by(signal.SIGTERM), "raise SystemExit(4)", ""):
        assert not amx.dies(program)


def test_what_does_not_end_counts_too() -> None:
    assert amx.dies("import signal; signal.pause()", timeout_s=1)


def test_the_processor_announces_it_by_a_flag() -> None:
    assert amx.announces("flags : fpu amx_bf16 avx512_fp16 amx_tile")
    assert not amx.announces("flags : fpu avx512_bf16")


def test_the_caps_of_users_do_not_hide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in amx.CAPS:
        monkeypatch.setenv(name, "AVX2")
    condition = f"import os\nif not {set(amx.CAPS)} & os.environ.keys():"
    assert amx.dies(f"{condition} {killed_by(signal.SIGILL)}")


def test_nothing_is_set_where_it_is_not_announced() -> None:
    if amx.announces(Path("/proc/cpuinfo").read_text()):
        pytest.skip("this processor announces AMX")
    before = dict(os.environ)
    amx.leave_out_broken_amx()
    assert (amx.caps(), amx.fact(), dict(os.environ)) == ({}, "not announced", before)


def test_what_is_found_is_set_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amx, "caps", lambda: amx.CAPS)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    monkeypatch.setenv("MKL_ENABLE_INSTRUCTIONS", "")  # so that it is put back
    monkeypatch.delenv("MKL_ENABLE_INSTRUCTIONS")
    amx.leave_out_broken_amx()
    assert os.environ["ONEDNN_MAX_CPU_ISA"] == "AVX2"
    assert os.environ["MKL_ENABLE_INSTRUCTIONS"] == "AVX512_E3"
