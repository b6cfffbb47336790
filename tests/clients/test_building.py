"""Commands that build clients end in time, with their programs, and say how far they came."""

from __future__ import annotations

import signal

from tests.clients.building import ROOT, run


def test_a_command_that_hangs_ends_with_what_it_printed() -> None:
    done = run(["sh", "-c", "echo begun; sleep 1000 & sleep 1000"], ROOT, timeout=1)
    begun, why = done.stdout.splitlines()  # both sleeps held the pipe open
    assert done.returncode == -signal.SIGKILL
    assert begun == "begun"
    assert why.endswith("killed after 1 s")
