from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.cli import app
from dovetail.cli.common import command
from dovetail.experiments.studies.rows import STUDIES, study

LONG = {"amazons", "tetris"}
"""Studies of which even a piece of each kind of work takes long."""


@pytest.mark.timeout(600)  # with empty caches most of it is compiling
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.slow] * (each in LONG)) for each in STUDIES]
)
def test_every_kind_of_work_of_a_study_is_done_once(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--all --quick` takes too long for every change; this is a piece of each kind of its work."""
    monkeypatch.chdir(tmp_path)
    assert command(app, "dovetail", ["study", name, "--smoke"]) == 0
    lines = capsys.readouterr().err.splitlines()
    done = {line.split(" (")[0].removeprefix(f"{name} ") for line in lines}
    assert len(lines) == len(done)
    kinds = {row.key: row.work for row in study(name).rows if row.runs}
    assert {kinds[key] for key in done} == set(kinds.values())
