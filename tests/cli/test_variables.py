"""Environment variables that every program obeys."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from dovetail import Experiment


def test_a_broker_listens_where_other_programs_look_for_it(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/b"
    with subprocess.Popen(
        [sys.executable, "-m", "dovetail", "broker", "--journal", "none"],
        env={**os.environ, "DOVETAIL_BROKER": address},
        stdout=subprocess.PIPE,
        text=True,
    ) as broker:
        assert broker.stdout is not None
        try:
            assert broker.stdout.readline() == f"broker ready at {address}\n"
            with Experiment.connect(address) as experiment:
                assert experiment.catalogue()["environments"] == []
        finally:
            broker.send_signal(signal.SIGTERM)


def test_a_broker_that_would_listen_beyond_this_machine_says_who_told_it_to(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dovetail", "broker"],
        env={**os.environ, "DOVETAIL_BROKER": "tcp://10.1.2.3:5757"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "other machines reach tcp://10.1.2.3:5757 (DOVETAIL_BROKER says so)" in done.stderr
    assert len(done.stderr.splitlines()) == 1
