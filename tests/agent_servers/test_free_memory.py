"""Memory that the machine does not have is refused in one line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dovetail.protocol.errors import DovetailError
from dovetail_agents.learning import memory


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a machine that says nothing about its memory."""
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    return tmp_path


def test_the_system_and_its_group_limit_a_program(machine: Path) -> None:
    assert memory.available() == math.inf
    (machine / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable:  2000000 kB\n")
    assert memory.available() == 2_048_000_000
    (machine / "memory.max").write_text("max\n")
    (machine / "memory.current").write_text("700000000\n")
    (machine / "memory.stat").write_text("anon 1\ninactive_file 200000000\nactive_file 5\n")
    assert memory.available() == 2_048_000_000
    (machine / "memory.max").write_text("1000000000\n")
    assert memory.available() == 500_000_000


def test_what_does_not_fit_costs_one_line(machine: Path) -> None:
    (machine / "meminfo").write_text("MemAvailable: 1048576 kB\n")
    memory.room(700 << 20, "the table")
    with pytest.raises(
        DovetailError, match=r"^the table would take 900 MiB, and 1,024 MiB are free"
    ):
        memory.room(900 << 20, "the table")
